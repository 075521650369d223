"""The user's own program: what was named on the command line, lowered for a TPU in their Python."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from tpustarter.checking.outcomes import process_ending
from tpustarter.checking.runner import START_S
from tpustarter.checking.session import Session, start
from tpustarter.problem import ExitCode, Problem
from tpustarter.running.process import Event, Probe

TYPES = {
    "f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64",
    "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "s4": "int4",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "u4": "uint4",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "i4": "int4",
    "pred": "bool", "c64": "complex64", "c128": "complex128",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
}  # fmt: skip
"""Short names as HLO writes them (and `i8` for `s8`), and NumPy's."""
ENTRY = "programs"
"""What `FILE.py` alone names: a function of `devices` that lists programs, as in a check."""

_ARGUMENT = re.compile(r"(?P<type>[A-Za-z]\w*)\[(?P<shape>[\d, ]*)\]")
_DIMENSION = 2**31
"""One more than the largest dimension XLA takes."""


@dataclass(frozen=True)
class Code:
    """A function in a file, and the types of what it is called with."""

    file: Path
    function: str
    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    """Type and shape of each array; empty for an entry point that lists programs itself."""

    @property
    def name(self) -> str:
        """Return what to call it: `train.py:step`."""
        return f"{self.file.name}:{self.function}"


@dataclass(frozen=True)
class Exported:
    """A program of the user's, lowered for a TPU, or why it could not be."""

    program: str
    devices: int | None
    """How many devices it was listed for; None where it is one function for one device."""
    source: dict[str, Any]
    """`artifact`, `program` and `lowered`, as the compiler takes them."""
    error: str | None = None
    refused: bool = False
    """Whether JAX has no rule for it on a TPU."""


@dataclass(frozen=True)
class Function:
    """A place in a script that was given to `jax.jit`, once the script has ended."""

    name: str
    where: str
    """File and line."""
    calls: int
    made: int
    """How often it was given to `jax.jit`."""
    compilations: int
    changed: str
    """What was different the last time it was compiled anew."""


@dataclass(frozen=True)
class Printed:
    """A piece of the script's own output."""

    name: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True)
class ScriptEnded:
    """The script came to its end; `error` says how, where that was not a good one."""

    error: str | None


def is_code(text: str) -> bool:
    """Tell `train.py:step` from the id of a check."""
    return text.partition(":")[0].endswith(".py")


def read(text: str, arguments: tuple[str, ...]) -> Code:
    """Return what `FILE.py:FUNCTION` and its `--arg`s name; raises Problem."""
    name, _, function = text.partition(":")
    file = Path(name).expanduser()
    if not file.is_file():
        raise Problem(
            f"there is no file `{name}`",
            hint="name a function as `FILE.py:FUNCTION`",
            code=ExitCode.USAGE,
        )
    if function and not function.isidentifier():
        raise Problem(
            f"`{function}` is no name of a function, expected `FILE.py:FUNCTION`",
            code=ExitCode.USAGE,
        )
    return Code(
        file.absolute(), function or ENTRY, tuple(read_argument(argument) for argument in arguments)
    )


def read_argument(text: str) -> tuple[str, tuple[int, ...]]:
    """Return type and shape of `f32[8192,8192]`; raises Problem."""
    match = _ARGUMENT.fullmatch(text.strip())
    example = "an array as `f32[8192,8192]`, or `bf16[]` for a scalar"
    if not match:
        raise Problem(
            f"`--arg {text[:80]}` cannot be read, expected {example}", code=ExitCode.USAGE
        )
    kind = TYPES.get(match["type"], match["type"])
    if kind not in TYPES.values():
        matches = get_close_matches(match["type"], [*TYPES, *TYPES.values()], n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(f'`{name}`' for name in matches)}?" if matches else None
        raise Problem(
            f"`--arg {text[:80]}`: found the type `{match['type']}`, expected one of "
            f"{', '.join(TYPES)}",
            hint=hint,
            code=ExitCode.USAGE,
        )
    words = [word.strip() for word in match["shape"].split(",")] if match["shape"].strip() else []
    if any(not word or " " in word or len(word) > 10 or int(word) >= _DIMENSION for word in words):
        raise Problem(
            f"`--arg {text[:80]}`: the shape cannot be read, expected {example}",
            code=ExitCode.USAGE,
        )
    return kind, tuple(int(word) for word in words)


def export(
    code: Code,
    session: Session,
    counts: list[int],
    timeout_s: float,
    started: Callable[[Probe], None],
) -> Iterator[Exported | float]:
    """Yield the user's programs as they are lowered, and seconds while nothing comes.

    Args:
        code: What to lower.
        session: The user's Python, with CPU devices for the largest of `counts`.
        counts: Numbers of devices to list an entry point's programs for.
        timeout_s: Longest time for all of it.
        started: Told the process, so that it can be stopped.

    Raises:
        Problem: the file cannot be run, or does not name such a function.
    """
    probe, log = start(session)
    started(probe)
    try:
        probe.send({"do": "trace", "id": code.name, "timeout_s": timeout_s,
                    "file": str(code.file), "name": code.function, "folder": str(session.folder),
                    "arguments": [[kind, list(shape)] for kind, shape in code.arguments],
                    "counts": counts})  # fmt: skip
        began = time.monotonic()
        while (passed_s := time.monotonic() - began) < timeout_s + START_S:
            event = probe.read(1.0)
            if event is None:
                yield passed_s
            elif event["event"] == "exported":
                yield _exported(event, session)
            elif event["event"] == "end" and event["outcome"] == "done":
                return
            elif event["event"] != "start":
                raise _failed(code, event, session)
        raise Problem(f"`{code.name}` was not lowered within {timeout_s:g} s")
    finally:
        probe.end()
        probe.close()
        log.close()


def run_script(
    words: tuple[str, ...], session: Session, started: Callable[[Probe], None]
) -> Iterator[Exported | Function | Printed | ScriptEnded | float]:
    """Run a script; yields what it meets and prints, and seconds while nothing comes.

    Args:
        words: The script and its arguments.
        session: The user's Python, with CPU devices for the TPU that is meant.
        started: Told the process, so that it can be stopped.

    Raises:
        Problem: there is no such file.
    """
    path = Path(words[0]).expanduser()
    if not path.is_file():
        raise Problem(f"there is no file `{words[0]}`", code=ExitCode.USAGE)
    probe, log = start(session, stream=True)
    started(probe)
    try:
        probe.send({"do": "script", "id": path.name, "timeout_s": 10 * 86400,
                    "path": str(path.absolute()), "argv": list(words[1:]),
                    "folder": str(session.folder)})  # fmt: skip
        began = time.monotonic()
        while True:
            event = probe.read(1.0)
            kind = event["event"] if event else None
            if event is None:
                yield time.monotonic() - began
            elif kind == "output":
                yield Printed(event["name"], event["data"])
            elif kind == "met":
                yield _exported(event, session)
            elif kind == "called":
                yield Function(**session.redact.value(event["function"]))
            elif kind == "end" and event["outcome"] == "done":
                yield ScriptEnded(None)
                return
            elif kind != "start":
                yield ScriptEnded(_ending(event, session))
                return
    finally:
        probe.end()
        probe.close()
        log.close()


def _ending(event: Event, session: Session) -> str:
    if event["event"] == "interrupted":
        return "it was stopped"
    if event["event"] == "gone":
        return process_ending(event)[2]
    return session.redact.text(str(event.get("detail", event)))


def _exported(event: Event, session: Session) -> Exported:
    if "error" in event:
        error = session.redact.text(str(event["error"]))
        return Exported(_title(event), event.get("for_devices"), {}, error, event["refused"])
    name = _title(event)
    source = {"artifact": event["artifact"], "lowered": event["lowered"], "program": name}
    return Exported(name, event.get("for_devices"), source)


def _title(event: Event) -> str:
    """Return what to call a program: a function of a script has its shapes behind its name."""
    signature = event.get("signature")
    return event["program"] if signature is None else f"{event['program']}({signature})"


def _failed(code: Code, event: Event, session: Session) -> Problem:
    """Return why nothing could be lowered."""
    if event["event"] == "interrupted":
        return Problem("stopped before anything was compiled", code=ExitCode.INTERRUPTED)
    detail = session.redact.text(str(event.get("detail") or ""))
    if event["event"] == "gone":
        detail = process_ending(event)[2]
    hint = None
    if missing := re.search(r"No module named '([\w.]+)'", detail):
        hint = (
            f"install `{missing[1]}` for `{session.python}`, or name another with `--python PATH`"
        )
    return Problem(
        f"`{code.name}` cannot be lowered: {detail}", hint=hint, code=ExitCode.INCONCLUSIVE
    )
