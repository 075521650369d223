"""What of one's own can be rehearsed: a function or a script, and the line where it is typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import own_code, source, suggestions

FUNCTION, SCRIPT = "function", "script"
_PLAIN = re.compile(r"[^\s'\"\\\\]+")
OWN = {
    FUNCTION: (
        "a function in a file of mine",
        "train.py:step f32[8192,8192] bf16[8192,512]",
        "FILE.py:FUNCTION and the type of each argument; FILE.py alone calls its programs(devices)",
    ),
    SCRIPT: (
        "a script of mine, on CPU devices",
        "train.py --steps 2",
        "the script, and the arguments it takes; what it passes to jax.jit is compiled as well",
    ),
}
"""What can be rehearsed besides checks: its name, an example, and what is typed for it."""


@dataclass(frozen=True)
class TypedProgram:
    """What was typed for one of `OWN`, and names a file."""

    kind: str
    words: tuple[str, ...]


class OwnLine(Input):
    """Where a file of the learner's is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "choose it", key_display="Enter", tooltip="the file typed"),
    ]

    def __init__(self) -> None:
        super().__init__(id="search")  # what is typed first replaces what it holds


def read_words(kind: str, typed: str) -> tuple[str, ...]:
    """Return the words typed for a function or a script; raises Problem where they name none."""
    try:
        words = tuple(shlex.split(typed))
    except ValueError as error:
        raise Problem(
            f"a quotation mark is not closed in `{typed}`", code=ExitCode.USAGE
        ) from error
    example = OWN[kind][1]
    if not words:
        raise Problem("no file is named", hint=f"for example `{example}`", code=ExitCode.USAGE)
    if kind == SCRIPT:
        if not Path(words[0]).expanduser().is_file():
            raise Problem(f"there is no file `{words[0]}`", code=ExitCode.USAGE)
    elif own_code.is_code(words[0]):
        words = tuple(word for word in words if word != "--arg")  # as the command has it
        own_code.read(words[0], words[1:])
    else:
        raise Problem(f"found `{words[0]}`, expected `FILE.py:FUNCTION`",
                      hint=f"for example `{example}`", code=ExitCode.USAGE)  # fmt: skip
    return words


def typed(words: Iterable[str]) -> str:
    """Return words as they are typed here, where no shell takes brackets for its own."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def found_in(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the words for the first function and the first script that a folder offers."""
    function, script = suggestions.own_words(source.programs_in(folder))
    return {FUNCTION: function, SCRIPT: script}
