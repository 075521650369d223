"""The user's own programs: functions and scripts, found in files or typed in a line."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.machine import Machine
from tpustarter.rehearsal.compile import compiler
from tpustarter.rehearsal.fit import dimension
from tpustarter.rehearsal.programs import (
    file_functions,
    resolve,
    suggestions,
    syntax_check,
    user_program,
    user_python,
)
from tpustarter.rehearsal.programs.file_functions import FileSource
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.programs.suggestions import SuggestedProgram
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.form_page import TextField
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.text_layout import HangingText

FUNCTION, SCRIPT = "function", "script"
FIT = "--fit"
"""The option before the dimension to search, as on the command line."""
DIMENSION = "batch"
"""The default name of that dimension."""
_PLAIN = re.compile(r"[^\s'\"\\\\]+")
_FIRST_AXIS = re.compile(r"(?P<type>\w+\[)(?P<size>\d+)(?P<rest>[,\]].*)")
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
"""The kinds of programs that can be typed: label, example, and explanation."""
MOST_FOUND = 40
"""Maximum number of a folder's programs that are listed; the others can be typed."""
_INDENT = "    "
OTHER_WAYS = (
    "Or let programs(devices) in your file yield it with its arguments, or choose a script that "
    "calls it."
)
NO_JIT = "It has no jax.jit of its own, so there may be nothing to compile."
"""The note on a script that seems to have nothing to compile."""


@dataclass(frozen=True)
class TypedProgram:
    """A function or a script as typed, with its shapes or arguments."""

    kind: str
    words: tuple[str, ...]
    note: str = field(default="", compare=False)
    """A remark to show before it is started."""
    mark: str = field(default="", compare=False)
    """Short text below its row: the source of its arguments, or that they are nested."""
    sources: tuple[str, ...] = field(default=(), compare=False)
    """The sources of its arguments, and the code still to be written for it, as sentences."""
    is_incomplete: bool = field(default=False, compare=False)
    """True if a function that makes an argument is still to be written."""

    @property
    def name(self) -> str:
        """The program's unique name in a list."""
        return f"{self.kind} {join_words(self.words)}"

    @property
    def needs_shapes(self) -> bool:
        """True if the program is a function of arrays, whose shapes the user chooses."""
        return self.kind == FUNCTION and bool(self.arguments)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the function or script."""
        at = self._find_fit()
        return self.words[1:at] + self.words[at + 2 :]

    @property
    def dimension(self) -> str:
        """The dimension whose largest size is searched for; empty for none."""
        return "".join(self.words[self._find_fit() + 1 :][:1])

    def _find_fit(self) -> int:
        searches = self.kind == FUNCTION and FIT in self.words
        return self.words.index(FIT) if searches else len(self.words)

    @property
    def file_and_function(self) -> tuple[str, str]:
        """The kind, and the file with its function, which all entries of one program share."""
        return self.kind, self.words[0]


@dataclass(frozen=True)
class AmbiguousPrograms:
    """The programs of a file, if it is not clear which one is meant."""

    why: str
    programs: tuple[TypedProgram, ...]


class ProgramInput(TextField):
    """The input line for the user's file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "choose it", key_display="Enter", tooltip="the file typed"),
    ]


class ProgramOfferList(RowList):
    """The programs of a file; the selected one is copied into the input line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "take it", key_display="Enter", tooltip="into the line above"),
    ]


def parse_typed_program(
    kind: str, typed: str, python: str | None, machine: Machine
) -> TypedProgram | AmbiguousPrograms:
    """Return the program that a typed line names, or its candidates if it is ambiguous.

    Args:
        kind: The kind of program, a key of `OWN`.
        typed: The text.
        python: The Python chosen to run it; None for the first one found with JAX.
        machine: This machine, for its environment.

    Raises:
        Problem: The text names no file, a file that is not Python, or one with nothing to compile.
    """
    words = _read_words(kind, typed)
    shown = words[0] if kind == SCRIPT else words[0].partition(":")[0]
    file = locations.expand_path(shown)

    def find_python() -> Path:
        without_jax = Path(sys.executable)
        with contextlib.suppress(Problem):  # then the rehearsal reports it
            without_jax = compiler.find_compiler_python(None, machine)
        folder = Path.cwd() if kind == SCRIPT else file.parent
        return user_python.find_python(python, machine, folder, "", without_jax=without_jax)

    syntax_check.verify_syntax(file, shown, find_python)
    if kind == SCRIPT:
        beside = (one for one in file_functions.find_program_files(file.parent) if one.path == file)
        read = next(beside, None) or file_functions.read_source(file)
        return TypedProgram(kind, words, NO_JIT if read and not read.jits else "")
    program = TypedProgram(kind, words)
    name, given, fit = words[0], program.arguments, program.dimension
    if FIT in words and not fit:
        raise Problem(f"`{FIT}` has no name", hint=f"type `{FIT} {DIMENSION}`", code=ExitCode.USAGE)
    try:
        code = user_program.parse_function(name, given, dimension=fit)
        resolve.verify_function_and_arguments(code, shown, given, ())
        dimension.require_searchable_dimension(
            RehearsalRequest(ids=(name,), arguments=given, fit=fit), code
        )
    except resolve.UnclearProgram as unclear:
        if not unclear.commands:
            raise
        return AmbiguousPrograms(unclear.in_app, _offered(file, shown, unclear.commands))
    return program


def add_dimension(program: TypedProgram) -> TypedProgram:
    """Return a function with a dimension to search: the common first axis of its last arrays."""
    first, *given = program.words
    if program.dimension:
        return program
    size = ""
    for number in reversed(range(len(given))):
        axis = _FIRST_AXIS.fullmatch(given[number])
        if axis is None or axis["size"] != (size or axis["size"]):
            break
        size = axis["size"]
        given[number] = f"{axis['type']}{DIMENSION}{axis['rest']}"
    return replace(program, words=(first, *given, FIT, DIMENSION))


def _offered(file: Path, shown: str, commands: Iterable[str]) -> tuple[TypedProgram, ...]:
    """Return the offered programs of a file, with the arguments that the file suggests."""
    read = file_functions.read_source(file)
    known = {one.words: one for one in _list_programs(read, shown)} if read else {}
    offered = [_program(command) for command in commands]
    return tuple(known.get(one.words, one) for one in offered)


def _list_programs(source: FileSource, shown: str) -> list[TypedProgram]:
    return [_found(one) for one in suggestions.suggest_programs(source, shown)]


def _found(suggested: SuggestedProgram) -> TypedProgram:
    program = _program(suggested.command)
    marks = [f"{one.name} from {one.made_by}" for one in suggested.examples if one.made_by]
    nested = [one.name for one in suggested.examples if one.missing]
    if nested:
        are = phrases.choose_plural(len(nested), "is", "are")
        marks.append(f"{phrases.join_words(nested)} {are} nested: Enter says what works")
    return replace(
        program, mark="; ".join(marks), sources=suggested.notes, is_incomplete=bool(nested)
    )


def _program(command: str) -> TypedProgram:
    """Return the program of a suggested command line."""
    words = [word for word in shlex.split(command)[2:] if word != "--arg"]
    if words[0] == "--script":
        return TypedProgram(SCRIPT, tuple(words[1:]))
    return TypedProgram(FUNCTION, tuple(words))


def _read_words(kind: str, typed: str) -> tuple[str, ...]:
    """Return the words of a typed line; raises Problem if they name no file."""
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
        user_program.require_script(words)
    elif user_program.names_python_code(words[0]):
        words = tuple(word for word in words if word != "--arg")  # as the command has it
    else:
        raise Problem(
            f"found `{words[0]}`, expected `FILE.py:FUNCTION`",
            hint=f"for example `{example}`",
            code=ExitCode.USAGE,
        )
    return words


def join_words(words: Iterable[str]) -> str:
    """Return words as typed in the app, where brackets need no quotes."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def make_offer_rows(offered: AmbiguousPrograms) -> Iterator[Row]:
    """Yield a row for each program of a file."""
    for number, program in enumerate(offered.programs):
        how = ": what it passes to jax.jit" if program.kind == SCRIPT else ""
        yield make_row(str(number), Content(escape_text(f"{format_label(program)}{how}")), program)


def make_row(name: str, text: Content, program: TypedProgram) -> Row:
    """Return the row of a program, with its mark below it."""
    mark = Content.styled(escape_text(program.mark), "$muted")
    return Row(name, text, more=(HangingText(_INDENT, mark),) if program.mark else ())


def format_label(program: TypedProgram) -> str:
    """Return the label of a program in a list."""
    how = ", as a script" if program.kind == SCRIPT else ""
    return f"{join_words(program.words)}{how}"


def describe_typing(kind: str, program: TypedProgram | None) -> str:
    """Return the instruction below the input line: type a program, or complete the given one."""
    if program is None:
        return f"Type {OWN[kind][2]}."
    if kind == SCRIPT:
        return "Add the arguments that your script takes, and press Enter."
    if program.dimension:
        where = "in place of each size that grows with it" if program.arguments else "as it is"
        return (
            f"{program.dimension} stands for the size that is searched: write it {where}, and "
            "press Enter."
        )
    own = "Give the shapes of your own arrays in place of these, and press Enter."
    sources = [f"{one[:1].upper()}{one[1:]}." for one in program.sources]
    return " ".join([*sources, own, *([OTHER_WAYS] if program.is_incomplete else [])])


def describe_choosing(offered: AmbiguousPrograms) -> str:
    """Return the sentence that asks to choose one of a file's programs, and names the key."""
    one_of = phrases.choose_plural(len(offered.programs), "it", "one of these")
    return (
        f"{offered.why[:1].upper()}{offered.why[1:]}. Enter takes {one_of} into the line, where "
        "you give the shapes of your own arrays."
    )


def find_typed_programs(folder: Path) -> tuple[TypedProgram, ...]:
    """Return at most `MOST_FOUND` programs of a folder, taking the first ones of each file."""
    sources = file_functions.find_program_files(folder)
    files = [_list_programs(one, one.path.name) for one in sources]
    in_turn = (one for several in zip_longest(*files) for one in several if one)
    chosen = {*islice(in_turn, MOST_FOUND)}
    return tuple(one for several in files for one in several if one in chosen)
