"""An observation made by a check: the value found, the value expected, and a verdict."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Literal, TypedDict, get_args, overload

from tpustarter.machine.machine import cut_text

Verdict = Literal["ok", "info", "warn", "fail"]
Value = str | int | float | bool | None

_CODE = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)+")

MAX_TEXT = 2000
"""Maximum characters of a text field: findings are facts, not dumps."""


class Hint(str):
    """A sentence of advice, with the command, set-up or process that it names as data."""

    __slots__ = ("command", "ends", "setup")

    command: str | None
    """A command line that can replace the sentence."""
    setup: str | None
    """The first `tpustarter setup` profile that helps."""
    ends: int | None
    """Id of a process that the user may end if it is theirs."""

    def __new__(  # noqa: PYI034  `Self` needs Python 3.11, the probe 3.10
        cls,
        text: str,
        *,
        command: str | None = None,
        setup: str | None = None,
        ends: int | None = None,
    ) -> Hint:
        """Create a hint that names a command, a set-up or a process."""
        hint = super().__new__(cls, text)
        hint.command, hint.setup, hint.ends = command, setup, ends
        return hint

    @classmethod
    def of(cls, text: str | None) -> Hint:
        """Return a hint unchanged, or text as a hint that names nothing."""
        return text if isinstance(text, Hint) else cls(text or "")

    def format(self, *args: object, **kwargs: object) -> Hint:
        """Return the hint with values filled into its text and command."""
        command = self.command and self.command.format(*args, **kwargs)
        text = super().format(*args, **kwargs)
        return Hint(text, command=command, setup=self.setup, ends=self.ends)

    @classmethod
    def run(cls, command: str, more: str = "") -> Hint:
        """Return a hint to run a command; `more` is appended, as in `, because ...`."""
        return cls(f"run `{command}`{more}", command=command)

    @classmethod
    def see(cls, command: str, does: str) -> Hint:
        """Return a hint about the effect of a command: ```nproc` shows how many``."""
        return cls(f"`{command}` {does}", command=command)

    @classmethod
    def set_up(cls, profile: str, more: str = "") -> Hint:
        """Return a hint to run `tpustarter setup PROFILE`; `more` is appended to its text."""
        command = f"tpustarter setup {profile}"
        return cls(f"run `{command}`{more}", command=command, setup=profile)


@dataclass(frozen=True)
class Finding:
    """A fact that a check observed: numbers and short text, never arrays."""

    code: str
    """Stable name of this kind of fact, such as `JAX-DEVICES-COUNT`; never reused for another."""
    name: str
    """The subject, in a few words that a newcomer understands."""
    verdict: Verdict = "info"
    """`ok` and `fail` judge against a documented bound or an invariant, `warn` against a
    recommendation; `info` does not judge.
    """
    found: Value = None
    expected: Value = None
    unit: str | None = None
    """Unit of `found` and `expected`, such as `GiB`."""
    entity: str | None = None
    """The part that it concerns, such as `device:5` or `/dev/vfio/0`."""
    hint: str | None = None
    """One command or sentence for the user to follow; a `Hint` if it names a command, a set-up or a
    process.
    """
    lesson: str | None = None
    """A lesson that explains it, if not the check's own."""
    share: float | None = None
    """The share of a documented peak that was reached, from 0 to 1; drawn as a bar."""

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"verdict is {self.verdict!r}, expected one of {get_args(Verdict)}")
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"code is {self.code!r}, expected a name such as `JAX-DEVICES-COUNT`")

    def as_dict(self) -> dict[str, object]:
        """Return the fields, including the hint's, as JSON-ready values with long text cut."""
        hint = Hint.of(self.hint)
        named = {"command": hint.command, "setup": hint.setup, "ends": hint.ends}
        return {key: shorten_for_json(value) for key, value in (asdict(self) | named).items()}


@dataclass(frozen=True)
class Progress:
    """The progress of a check that takes minutes, yielded by its `run()` along with findings.

    `if (yield Progress(...)):` is true if the run should end now. The check then yields its
    findings so far and returns.
    """

    text: str
    """The work done, in a few words: `3.2 of 30 min, 18240 rounds`."""


class NoAnswer(Exception):  # noqa: N818  not an error
    """Raised by a check's `run()` if a service that it queries is silent or fails: no verdict.

    Findings so far are still reported, and a failed one refutes the claim.
    """


def compare(
    code: str,
    name: str,
    found: Value,
    expected: Value,
    *,
    unit: str | None = None,
    entity: str | None = None,
    hint: str | None = None,
    lesson: str | None = None,
) -> Finding:
    """Return an `ok` finding if `found == expected`, or else a `fail` with its hint."""
    if found == expected:
        return Finding(code, name, "ok", found, expected, unit, entity, None, lesson)
    return Finding(code, name, "fail", found, expected, unit, entity, hint, lesson)


@overload
def shorten_for_json(value: str) -> str: ...
@overload
def shorten_for_json(value: object) -> Value: ...
def shorten_for_json(value: object) -> Value:
    """Convert a value for JSON: cut long text, and convert NumPy numbers and NaN."""
    if isinstance(value, str):
        return cut_text(value, MAX_TEXT)
    if value is None or isinstance(value, bool | int):
        return value
    if getattr(value, "shape", None) == () and (item := getattr(value, "item", None)):
        value = item()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has neither NaN nor infinity
    return value if isinstance(value, int) else shorten_for_json(str(value))


def describe_error(error: BaseException) -> str:
    """Return an exception's name and, if readable, its message as one line."""
    return f"{type(error).__name__}: {error_message(error) or 'no message'}"


class MissingModuleFields(TypedDict, total=False):
    """The module that a failed import has not found."""

    missing_module: str


def missing_module_fields(error: BaseException) -> MissingModuleFields:
    """Return a field with the missing module of a failed import; empty for another error."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return {"missing_module": str(name)} if name else {}


def error_message(error: BaseException) -> str:
    """Return an exception's message, which may be empty or unreadable."""
    try:
        return str(error).strip()
    except Exception:  # noqa: BLE001  a broken `__str__` gives no message
        return "no message that can be shown"
