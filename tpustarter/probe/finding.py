"""One observation made by a check: what was found, what was expected, and what it means."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Verdict = Literal["ok", "info", "warn", "fail"]
Value = str | int | float | bool | None

_CODE = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)+")

_HALF_WORD = re.compile(r"\S{1,512}\Z")

MAX_TEXT = 2000
"""Longest text of one field, in characters: findings are facts, not dumps."""


@dataclass(frozen=True)
class Finding:
    """One fact a check observed. Numbers and short text, never arrays."""

    code: str
    """Stable name of this kind of fact, such as `JAX-DEVICES-COUNT`; never reused for another."""
    name: str
    """What was looked at, in a few words a newcomer reads first."""
    verdict: Verdict = "info"
    """`ok` and `fail` judge against a documented bound or an invariant, `warn` against a
    recommendation, `info` against nothing."""
    found: Value = None
    expected: Value = None
    unit: str | None = None
    """Unit of `found` and `expected`, such as `GiB`."""
    entity: str | None = None
    """The part it is about, such as `device:5` or `/dev/vfio/0`."""
    hint: str | None = None
    """One command or one sentence that can be followed."""
    lesson: str | None = None
    """A lesson that explains it, when it is another than the check's own."""

    def __post_init__(self) -> None:
        """Refuse what no reader could judge: a verdict that is none, a code that is no name."""
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"verdict is {self.verdict!r}, expected one of {get_args(Verdict)}")
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"code is {self.code!r}, expected a name such as `JAX-DEVICES-COUNT`")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values, long text cut."""
        return {key: clip(value) for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Progress:
    """How far a check that takes minutes has come; yielded by its `run()` among the findings.

    `if (yield Progress(...)):` is true when the run should end now: the check then yields what it
    has shown so far, and returns.
    """

    text: str
    """What was done, in a few words: `3.2 of 30 min, 18240 rounds`."""


def compare(code: str, name: str, found: Value, expected: Value, **fields: Any) -> Finding:
    """Return an `ok` finding where `found == expected`, else a `fail` with its hint."""
    if found == expected:
        return Finding(code, name, "ok", found, expected, **{**fields, "hint": None})
    return Finding(code, name, "fail", found, expected, **fields)


def clip(value: Any) -> Any:
    """Cut long text, and turn what JSON cannot hold (NumPy scalars, NaN) into plain values."""
    if isinstance(value, str):
        # Cut before a word, not within: half a secret would not be known as one.
        return value if len(value) <= MAX_TEXT else _HALF_WORD.sub("", value[:MAX_TEXT]) + "..."
    if value is None or isinstance(value, bool | int):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has neither NaN nor infinity
    return value if isinstance(value, int) else clip(str(value))


def describe(error: BaseException) -> str:
    """Return an exception as one line; one that cannot say what it is has only its name."""
    return f"{type(error).__name__}: {message(error) or 'no message'}"


def message(error: BaseException) -> str:
    """Return what an exception says; the exceptions of others may be empty, or broken."""
    try:
        return str(error).strip()
    except Exception:  # noqa: BLE001  whatever it raises, there is no message
        return "no message that can be shown"
