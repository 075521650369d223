"""The known failures: the rows of `failures.yml`, read and checked, and their texts filled in."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.json_values import as_object, is_array
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text, Texts
from tpustarter.explain.translated_errors import translate_pattern

FILE = Path(__file__).with_name("failures.yml")

Role = Literal["cause", "symptom", "notice"]
"""`cause` breaks a run by itself; a `symptom` follows from something else; a `notice` is a warning
that is harmless, or that explains wrong or slow results where nothing broke."""

ExitStatus = Annotated[int, msgspec.Meta(ge=1, le=255)]

_PLACEHOLDER = re.compile(
    r"\b(BUCKET|DEVICE|NAME|NEEDED|OVER|PID|PORT|PROJECT|PYTHON|SERVICE|STATE|THERE|TYPE|ZONE)\b"
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?([KMGT])", re.IGNORECASE)
"""A size of memory as the TPU compiler writes it: 20.30G are 20.3 GiB."""
_UNITS = "KMGT"
_DEFAULTS = {"SERVICE": "tpu.googleapis.com"}
_SENTENCE = re.compile(r"[A-Z][a-z]*[ ,]")

_SPACE = r"\s+"
_QUOTE = r"\\*" + "['\"`\u2018\u2019]"


class GoogleError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure as a service of Google reports it, for `tpustarter tpu`."""

    kind: Text
    """A word such as `capacity` or `denied`, which decides whether a call is tried again."""
    grpc_code: int | None
    """A number such as 8 for RESOURCE_EXHAUSTED; None where a program of Google's reports the
    failure."""


class KnownFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A known failure: its signs, its reason and its fixes."""

    id: Text
    aliases: tuple[Text, ...] = ()
    """Other ids of the same failure."""
    role: Role = "cause"
    what: Text
    """The problem, lowercase and without a full stop."""
    why: Text
    numbers: str = ""
    """A sentence before `why` where a pattern has caught the memory that was NEEDED and what was
    THERE; OVER becomes `2.1 times` or `4 % more than`."""
    fix: Texts
    """The fixes, the most likely first; each is a sentence, or a command by itself."""
    fix_in: dict[str, Texts] = msgspec.field(default_factory=dict[str, Texts])
    """The fixes instead of those, by framework: `jax`, `torch_xla` or `tensorflow`."""
    without_tpu: str = ""
    """The first fix on a machine without a TPU; it continues "If the program ran here,"."""
    never: str = ""
    """Advice often given that makes it worse; empty where there is none."""
    shows: tuple[Text, ...] = ()
    """Patterns of which one in a log is enough."""
    suggests: tuple[Text, ...] = ()
    """Patterns of which one alone means little, and two different ones are enough."""
    unless: tuple[Text, ...] = ()
    """Patterns that exclude the failure, anywhere in the log."""
    needs: tuple[Text, ...] = ()
    """Patterns of which the log must have one."""
    exit_codes: tuple[ExitStatus, ...] = ()
    """Exit codes of a command that this failure ended, as a shell reports them: 137 for SIGKILL."""
    of_peer: bool = False
    """It only shows that another process of the job has gone or has not come. Groups of its
    patterns name that process: TASKS its numbers, LEADER process 0; ENDED is found in a process
    that had come to the end of its program."""
    may_precede: bool = False
    """The error of the other process may also stand below it."""
    by_comparison: bool = False
    """It has no signs of its own: the logs of the workers of a job show it together."""
    explains: tuple[Text, ...] = ()
    """Ids of failures that are its consequences."""
    confirm: tuple[Text, ...] = ()
    """Codes of findings of host checks that confirm it on this machine, such as
    `HOST-HOLDER-PROCESS`; after a space, a word that the finding must hold. A finding with the
    verdict `info` confirms only by a value that is exactly this word, such as `removed`."""
    read: str = ""
    """The lesson that explains it, `track/id`; empty where there is none."""
    versions: str = ""
    """The versions in which it was seen; empty for all."""
    examples: tuple[Text, ...] = ()
    """Texts of it that users have met."""
    sources: Texts
    google: GoogleError | None = None
    """None where no service of Google reports it."""

    def __post_init__(self) -> None:
        if not (self.shows or self.suggests or self.exit_codes or self.by_comparison):
            raise ValueError("it has neither `shows` nor `suggests`")


@functools.cache
def read_known_failures(file: Path = FILE) -> tuple[KnownFailure, ...]:
    """Read the known failures; raise Problem for a row that cannot be used."""
    table = yaml_rows.load_yaml(file)
    if not is_array(table):
        raise Problem(f"`{file.name}` holds no list of failures")
    failures = tuple(
        yaml_rows.convert_row(row, KnownFailure, _name(row, number), file)
        for number, row in enumerate(table, 1)
    )
    ids = [name for failure in failures for name in (failure.id, *failure.aliases)]
    if repeated := [name for name in ids if ids.count(name) > 1]:
        raise Problem(f"`{file.name}` has two rows called `{repeated[0]}`")
    for failure in failures:
        if strange := set(failure.explains) - set(ids):
            raise Problem(f"the row `{failure.id}` of `{file.name}` explains {strange.pop()!r}")
    return failures


def _name(row: object, number: int) -> str:
    return str(as_object(row).get("id") or number)


def is_command(fix: str) -> bool:
    """Return whether a fix is a command to run as it stands, rather than a sentence."""
    return not _SENTENCE.match(fix) and not fix.endswith((".", "`"))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Return a text with ZONE, NAME and other placeholders replaced by the known values."""
    values = _DEFAULTS | dict(values)
    return _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), text)


@functools.cache
def generalise_pattern(pattern: str) -> str:
    r"""Return a pattern that also finds wrapped, translated and requoted text.

    A space stands for any white space, so that a line that a terminal has wrapped still matches;
    a quote stands for any quote, also for one that JSON has escaped. Spaces and quotes inside
    `[...]` stay as they are. An error of the operating system is found in several languages.
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
    """Return NEEDED, THERE and OVER in words, or None unless more was needed than there was.

    Where enough was free in total, as in fragmented memory, the numbers explain nothing.
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
