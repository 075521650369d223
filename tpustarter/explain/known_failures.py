"""Read and validate the known failures in `failures.yml`, and fill in their placeholders."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text, Texts
from tpustarter.explain.translated_errors import translate_pattern

FILE = Path(__file__).with_name("failures.yml")
HARMLESS = Path(__file__).with_name("harmless_lines.yml")

Role = Literal["cause", "symptom", "notice"]
"""A `cause` breaks a run by itself. A `symptom` follows from something else. A `notice` is a
warning that is harmless, or that explains wrong or slow results when nothing failed."""

ExitStatus = Annotated[int, msgspec.Meta(ge=1, le=255)]

_PLACEHOLDER = re.compile(
    r"\b(BUCKET|DEVICE|NAME|NEEDED|OVER|PID|PORT|PROJECT|PYTHON|SERVICE|STATE|THERE|TYPE|ZONE)\b"
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?([KMGT])", re.IGNORECASE)
"""A memory size as the TPU compiler writes it: 20.30G is 20.3 GiB."""
_UNITS = "KMGT"
_DEFAULTS = {"SERVICE": "tpu.googleapis.com"}
_SENTENCE = re.compile(r"[A-Z][a-z]*[ ,]")

_SPACE = r"\s+"
_QUOTE = r"\\*" + "['\"`\u2018\u2019]"


class GoogleError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error of a Google service or program, to be explained by `tpustarter tpu`."""

    kind: Text
    """A word such as `capacity` or `denied`, which decides whether a call is retried."""
    grpc_code: int | None
    """A number such as 8 for RESOURCE_EXHAUSTED; None if one of Google's programs reports the
    failure."""


class KnownFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A known failure: its signs, its cause and its fixes."""

    id: Text
    aliases: tuple[Text, ...] = ()
    """Other ids for the same failure."""
    role: Role = "cause"
    what: Text
    """The problem, lowercase and without a full stop."""
    why: Text
    numbers: str = ""
    """A sentence inserted before `why` if a pattern captured the memory NEEDED and the memory that
    was THERE; OVER becomes `2.1 times` or `4 % more than`."""
    fix: Texts
    """Fixes, most likely first; each is a sentence or a command."""
    fix_in: dict[str, Texts] = msgspec.field(default_factory=dict[str, Texts])
    """Fixes that replace these for a framework: `jax`, `torch_xla` or `tensorflow`."""
    without_tpu: str = ""
    """The first fix on a machine without a TPU; it completes "If the program ran here,"."""
    never: str = ""
    """Common advice that makes it worse, if any."""
    shows: tuple[Text, ...] = ()
    """Patterns, any one of which is sufficient."""
    suggests: tuple[Text, ...] = ()
    """Weak patterns, two different ones of which are sufficient."""
    unless: tuple[Text, ...] = ()
    """Patterns that rule out the failure if found anywhere in the log."""
    needs: tuple[Text, ...] = ()
    """Patterns, at least one of which the log must contain."""
    exit_codes: tuple[ExitStatus, ...] = ()
    """Exit codes of a command that this failure ended, as a shell reports them: 137 for SIGKILL."""
    of_peer: bool = False
    """True if it only shows that another process of the job is gone or did not arrive. Named groups
    of its patterns identify that process: TASKS its numbers, LEADER process 0. ENDED marks a
    process that had reached the end of its own program."""
    may_precede: bool = False
    """True if the other process's error may also follow it in the log."""
    by_comparison: bool = False
    """True if it has no signs of its own, and is found only by comparing the workers' logs."""
    explains: tuple[Text, ...] = ()
    """Ids of the failures that are its consequences."""
    confirm: tuple[Text, ...] = ()
    """Codes of host check findings that confirm it on this machine, such as `HOST-HOLDER-PROCESS`;
    after a space, a word that the finding must contain. A finding with the verdict `info` confirms
    only if its value is exactly this word, such as `removed`."""
    read: str = ""
    """The lesson that explains it, as `track/id`, if any."""
    versions: str = ""
    """The versions in which it was observed; empty for all."""
    examples: tuple[Text, ...] = ()
    """Real messages reported by users."""
    sources: Texts
    google: GoogleError | None = None
    """None if no Google service reports it."""

    def __post_init__(self) -> None:
        if not (self.shows or self.suggests or self.exit_codes or self.by_comparison):
            raise ValueError("it has neither `shows` nor `suggests`")


@functools.cache
def read_known_failures(file: Path = FILE) -> tuple[KnownFailure, ...]:
    """Read the known failures; raise Problem if a row is invalid."""
    failures = yaml_rows.read_rows(file, KnownFailure)
    ids = [name for failure in failures for name in (failure.id, *failure.aliases)]
    if repeated := [name for name in ids if ids.count(name) > 1]:
        raise Problem(f"`{file.name}` has two rows called `{repeated[0]}`")
    for failure in failures:
        if strange := set(failure.explains) - set(ids):
            raise Problem(f"the row `{failure.id}` of `{file.name}` explains {strange.pop()!r}")
    return failures


class HarmlessLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line that a program prints in good runs, too, although it has the words of a failure."""

    id: Text
    pattern: Text
    """It is searched for in one line."""
    source: Text
    read: Text


@functools.cache
def read_harmless_lines() -> tuple[HarmlessLine, ...]:
    """Read the harmless lines; raise Problem if a row is invalid."""
    return yaml_rows.read_rows(HARMLESS, HarmlessLine)


def is_fix_command(fix: str) -> bool:
    """Return whether a fix is a command to run as it is, rather than a sentence."""
    return not _SENTENCE.match(fix) and not fix.endswith((".", "`"))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Return a fix or sentence with ZONE, NAME and other placeholders filled in."""
    values = _DEFAULTS | dict(values)
    return _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), text)


@functools.cache
def generalise_pattern(pattern: str) -> str:
    r"""Return a pattern that also matches wrapped, translated and requoted text.

    A space matches any white space, so that a line wrapped by a terminal still matches; a quote
    matches any quote, including one escaped in JSON. Spaces and quotes inside `[...]` are
    unchanged. An operating system error is matched in several languages.
    """
    pattern = translate_pattern(pattern)
    made: list[str] = []
    inside = False
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            made.append(pattern[position : position + 2])
            position += 2
            continue
        if inside:
            inside = character != "]"
            made.append(character)
        elif character == " ":
            is_optional = pattern[position + 1 : position + 2] in ("?", "*")
            made.append(r"\s*" if is_optional else _SPACE)
            position += is_optional
        elif character in "'\"`":
            made.append(_QUOTE)
        else:
            inside = character == "["
            made.append(character)
        position += 1
    return "".join(made)


def format_memory_shortage(values: Mapping[str, str]) -> dict[str, str] | None:
    """Return NEEDED, THERE and OVER for a message, or None if as much was there as needed.

    If enough was free in total, as with fragmented memory, the numbers explain nothing.
    """
    needed = _SIZE.fullmatch(values.get("NEEDED", ""))
    there = _SIZE.fullmatch(values.get("THERE", ""))
    if not needed or not there:
        return None
    least = _count_kib(there)
    if not least or _count_kib(needed) <= least:
        return None
    ratio = _count_kib(needed) / least
    return {
        "NEEDED": _format_size(needed),
        "THERE": _format_size(there),
        "OVER": _format_ratio(ratio),
    }


def _format_ratio(ratio: float) -> str:
    percent = (ratio - 1) * 100
    if percent < 1:
        return "less than 1 % more than"
    if percent < 10:
        return f"{percent:.0f} % more than"
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def _count_kib(size: re.Match[str]) -> float:
    return float(size[1]) * 1024 ** _UNITS.index(size[2].upper())


def _format_size(size: re.Match[str]) -> str:
    return f"{round(float(size[1]), 2):g} {size[2].upper()}iB"
