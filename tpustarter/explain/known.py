"""What is known to go wrong: the rows of `failures.yml`, read and checked."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tpustarter import rows
from tpustarter.explain.translated import in_any_language
from tpustarter.problem import Problem

FILE = Path(__file__).with_name("failures.yml")

Role = Literal["cause", "symptom", "notice"]
"""`cause` breaks a run by itself; a `symptom` follows from something else; a `notice` is a warning
that is harmless, or that explains wrong or slow results where nothing broke."""

_PLACEHOLDER = re.compile(
    r"\b(BUCKET|DEVICE|NAME|NEEDED|OVER|PID|PORT|PROJECT|PYTHON|SERVICE|STATE|THERE|TYPE|ZONE)\b"
)
_DEFAULTS = {"SERVICE": "tpu.googleapis.com"}
_SENTENCE = re.compile(r"[A-Z][a-z]*[ ,]")

_SPACE = r"\s+"
_QUOTE = "['\"`\u2018\u2019]"


@dataclass(frozen=True)
class Google:
    """How a service of Google's tells a failure, for `tpustarter tpu`."""

    kind: str
    """Decides whether a call is tried again, such as `capacity` or `denied`."""
    grpc_code: int | None
    """Its number, such as 8 for RESOURCE_EXHAUSTED; null where a program of Google's tells it."""


@dataclass(frozen=True)
class Failure:
    """One thing that goes wrong, how it shows, and what to do."""

    id: str
    aliases: tuple[str, ...]
    """Other ids of the same failure."""
    role: Role
    what: str
    """What is wrong, lowercase and without a full stop."""
    why: str
    numbers: str
    """What stands before `why` where one pattern has caught the memory that was NEEDED and what
    was THERE; OVER becomes `2.1 times` or `4 % more than`."""
    fix: tuple[str, ...]
    """What to do, the most likely first; a sentence, or a command by itself."""
    without_tpu: str
    """What to do first where this machine has no TPU; goes on after "If the program ran here,"."""
    never: str
    """What people are told to do that makes it worse; empty where nothing is."""
    shows: tuple[str, ...]
    """Patterns of which one, found in a log, is enough."""
    suggests: tuple[str, ...]
    """Patterns of which one alone means little, and two different ones are enough."""
    unless: tuple[str, ...]
    """Patterns that exclude it, wherever in the log they stand."""
    needs: tuple[str, ...]
    """Patterns of which the log must have one."""
    exit_codes: tuple[int, ...]
    """What a command ends with that this ended, as a shell tells it: 137 for SIGKILL."""
    explains: tuple[str, ...]
    """Ids of failures that are its consequences."""
    confirm: tuple[str, ...]
    """Codes of what the host checks find where it is so on this machine, such as
    `HOST-HOLDER-PROCESS`; after a space, a word that the finding must hold. A finding that judges
    nothing confirms only by what it found, such as `removed`."""
    read: str
    """The lesson that explains it, `track/id`; empty where there is none."""
    versions: str
    """The versions it was seen with; empty for all."""
    examples: tuple[str, ...]
    """Its text as somebody met it."""
    sources: tuple[str, ...]
    google: Google | None = None
    """Null where no service of Google's tells it."""


@functools.cache
def read(file: Path = FILE) -> tuple[Failure, ...]:
    """Return the known failures; raises Problem for a row that cannot be used."""
    table: Any = rows.load(file)
    if not isinstance(table, list):
        raise Problem(f"`{file.name}` holds no list of failures")
    failures = tuple(
        rows.made(made, row, _name(row, number), file)
        for number, row in enumerate(cast("list[Any]", table), 1)
    )
    ids = [name for failure in failures for name in (failure.id, *failure.aliases)]
    if repeated := [name for name in ids if ids.count(name) > 1]:
        raise Problem(f"`{file.name}` has two rows called `{repeated[0]}`")
    for failure in failures:
        if strange := set(failure.explains) - set(ids):
            raise Problem(f"the row `{failure.id}` of `{file.name}` explains {strange.pop()!r}")
    return failures


def _name(row: Any, number: int) -> str:
    named = cast("dict[Any, Any]", row).get("id") if isinstance(row, dict) else None
    return str(named or number)


_FIELDS = frozenset(Failure.__dataclass_fields__)


def made(fields: Mapping[str, Any]) -> Failure:
    """Return the failure that a row describes; raises KeyError or ValueError."""
    if unknown := sorted(map(str, set(fields) - _FIELDS)):
        raise ValueError(f"it has the unknown field {unknown[0]!r}")
    role = fields.get("role", "cause")
    if role not in get_args(Role):
        raise ValueError(f"its role is {role!r}, not one of {', '.join(get_args(Role))}")
    lists: dict[str, Any] = {
        key: rows.texts(fields, key) if fields.get(key) else ()
        for key in (
            *("aliases", "shows", "suggests", "unless", "needs"),
            *("explains", "confirm", "examples"),
        )
    }
    codes = _exit_codes(fields.get("exit_codes", []))
    if not lists["shows"] and not lists["suggests"] and not codes:
        raise ValueError("it has neither `shows` nor `suggests`")
    return Failure(
        id=rows.text(fields, "id"),
        role=role,
        what=rows.text(fields, "what"),
        why=rows.text(fields, "why"),
        numbers=rows.text(fields, "numbers", ""),
        fix=rows.texts(fields, "fix"),
        without_tpu=rows.text(fields, "without_tpu", ""),
        never=rows.text(fields, "never", ""),
        read=rows.text(fields, "read", ""),
        versions=rows.text(fields, "versions", ""),
        sources=rows.texts(fields, "sources"),
        exit_codes=codes,
        google=_google(fields.get("google")),
        **lists,
    )


def _exit_codes(value: Any) -> tuple[int, ...]:
    codes = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(type(code) is int and 0 < code < 256 for code in codes):
        raise ValueError(f"its `exit_codes` are {value!r}, expected numbers from 1 to 255")
    return tuple(codes)


def _google(value: Any) -> Google | None:
    if value is None:
        return None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if set(fields) != {"kind", "grpc_code"}:
        raise ValueError(f"its `google` is {value!r}, expected `kind` and `grpc_code`")
    code = fields["grpc_code"]
    if code is not None and type(code) is not int:
        raise ValueError(f"its `google` has the `grpc_code` {code!r}, expected a number")
    return Google(rows.text(fields, "kind"), code)


def is_command(fix: str) -> bool:
    """Return whether a fix is a command that can be run as it is."""
    return not _SENTENCE.match(fix) and not fix.endswith((".", "`"))


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with ZONE, NAME and so on replaced by the values that are known."""
    values = _DEFAULTS | dict(values)
    return _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), text)


@functools.cache
def generalised(pattern: str) -> str:
    r"""Return a pattern that also finds wrapped, translated and requoted text.

    A space stands for any white space, so that a line that a terminal has wrapped still matches;
    a quote stands for any quote. Spaces and quotes inside `[...]` stay as they are. An error of the
    operating system is found in several languages.
    """
    pattern = in_any_language(pattern)
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
