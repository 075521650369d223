"""What of one's own can be rehearsed: a function or a script, and the line where it is typed."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from tpustarter.machine.machine import Machine
from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import asked, compiler, own_code, own_python, source, suggestions, syntax
from tpustarter.terminal import visible
from tpustarter.tui.widgets import Row, Rows

FUNCTION, SCRIPT = "function", "script"
_PLAIN = re.compile(r"[^\s'\"\\\\]+")
OWN = {
    FUNCTION: (
        "a function in a file of mine",
        "train.py:step f32[8192,8192] bf16[8192,512]",
        "FILE.py to see its functions, or FILE.py:FUNCTION and the type of each argument",
    ),
    SCRIPT: (
        "a script of mine, on the CPU",
        "train.py --steps 2",
        "the script, and the arguments it takes; what it passes to jax.jit is compiled as well",
    ),
}
"""What can be typed and rehearsed besides checks: its name, an example, and what is typed."""
MOST_FOUND = 6
"""Programs of a folder that are listed; the others are typed."""
NO_JIT = "It has no jax.jit of its own, so there may be nothing to compile."
"""What is said of a script that seems to have nothing to compile."""


@dataclass(frozen=True)
class TypedProgram:
    """What was typed for one of `OWN`, or may have been meant, and names a file."""

    kind: str
    words: tuple[str, ...]
    note: str = ""
    """What is to be known of it before it is started."""

    @property
    def name(self) -> str:
        """What it is called in a list, other than any other."""
        return f"{self.kind} {typed(self.words)}"

    @property
    def needs_shapes(self) -> bool:
        """Whether it is a function with arrays, whose shapes are the learner's to give."""
        return self.kind == FUNCTION and len(self.words) > 1

    @property
    def function(self) -> tuple[str, str]:
        """What it is a program of, whatever shapes or arguments it is given."""
        return self.kind, self.words[0]


@dataclass(frozen=True)
class Offered:
    """What a file offers, where it is not clear what of it is meant."""

    why: str
    programs: tuple[TypedProgram, ...]


class OwnLine(Input):
    """Where a file of the learner's is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "choose it", key_display="Enter", tooltip="the file typed"),
    ]

    def __init__(self) -> None:
        super().__init__(id="search")


class Offers(Rows):
    """What a file offers; one is taken into the line, to change it there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "take it", key_display="Enter", tooltip="into the line above"),
    ]

    def __init__(self) -> None:
        super().__init__(id="offers")


def read_typed(
    kind: str, typed: str, python: str | None, machine: Machine
) -> TypedProgram | Offered:
    """Return what was typed for a function or a script, or what it may mean.

    Args:
        kind: Which of `OWN` it is.
        typed: What was typed.
        python: The Python that was chosen to run it; None for the first one found with JAX.
        machine: This machine, for its environment.

    Raises:
        Problem: it names no file, one that is no Python, or one with nothing to compile.
    """
    words = _read_words(kind, typed)
    shown = words[0] if kind == SCRIPT else words[0].partition(":")[0]
    file = Path(shown).expanduser()

    def find_python() -> Path:
        without_jax = Path(sys.executable)
        with contextlib.suppress(Problem):  # then the screen says what is missing
            without_jax = compiler.find(None, machine)
        folder = Path.cwd() if kind == SCRIPT else file.parent
        return own_python.find(python, machine, folder, "", without_jax=without_jax)

    syntax.verify(file, shown, find_python)
    if kind == SCRIPT:
        beside = (one for one in source.programs_in(file.parent) if one.path == file)
        read = next(beside, None) or source.read(file)
        return TypedProgram(kind, words, NO_JIT if read and not read.jits else "")
    name, *given = words
    try:
        asked.verify(own_code.read(name, tuple(given)), name.partition(":")[0], given, ())
    except asked.Unclear as unclear:
        if not unclear.commands:
            raise
        what = unclear.what.replace("an `--arg` for", "the type of")
        return Offered(what, tuple(map(_program, unclear.commands)))
    return TypedProgram(kind, words)


def _program(command: str) -> TypedProgram:
    """Return what a command line means, as it is typed here."""
    words = [word for word in shlex.split(command)[2:] if word != "--arg"]
    if words[0] == "--script":
        return TypedProgram(SCRIPT, tuple(words[1:]))
    return TypedProgram(FUNCTION, tuple(words))


def _read_words(kind: str, typed: str) -> tuple[str, ...]:
    """Return the words of what was typed; raises Problem where they name no file."""
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
        own_code.script(words)
    elif own_code.is_code(words[0]):
        words = tuple(word for word in words if word != "--arg")  # as the command has it
    else:
        raise Problem(f"found `{words[0]}`, expected `FILE.py:FUNCTION`",
                      hint=f"for example `{example}`", code=ExitCode.USAGE)  # fmt: skip
    return words


def typed(words: Iterable[str]) -> str:
    """Return words as they are typed here, where no shell takes brackets for its own."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def offer_rows(offered: Offered) -> Iterator[Row]:
    """Yield what a file offers, a line each."""
    for number, program in enumerate(offered.programs):
        how = ": what it passes to jax.jit" if program.kind == SCRIPT else ""
        yield Row(str(number), visible(f"{called(program)}{how}"))


def called(program: TypedProgram) -> str:
    """Return what a program is called in a list."""
    how = ", as a script" if program.kind == SCRIPT else ""
    return f"{typed(program.words)}{how}"


def how_to_type(kind: str, *, has_words: bool) -> str:
    """Return what is typed for one of `OWN`, or changed of the words that stand there."""
    if has_words and kind == FUNCTION:
        return "Give the shapes of your own arrays in place of these, and press Enter."
    if has_words:
        return "Add the arguments that your script takes, and press Enter."
    return f"Type {OWN[kind][2]}."


def how_to_choose(offered: Offered) -> str:
    """Return why one of what a file offers is to be chosen, and how."""
    one_of = "it" if len(offered.programs) == 1 else "one of these"
    return (
        f"{offered.why[:1].upper()}{offered.why[1:]}. Enter takes {one_of} into the line, where "
        "you give the shapes of your own arrays."
    )


def found_in(folder: Path) -> tuple[TypedProgram, ...]:
    """Return the functions and scripts that a folder offers, the first ones of each file."""
    files = [[*map(_program, suggestions.offers(one, one.path.name))]
             for one in source.programs_in(folder)]  # fmt: skip
    in_turn = (one for several in zip_longest(*files) for one in several if one)
    chosen = {*islice(in_turn, MOST_FOUND)}
    return tuple(one for several in files for one in several if one in chosen)
