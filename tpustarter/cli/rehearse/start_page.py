"""`tpustarter rehearse` without a program: its purpose, and commands for this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.core import content
from tpustarter.rehearsal.programs import file_functions, suggestions
from tpustarter.rehearsal.programs.file_functions import FileSource
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands, tpustarter_command_anywhere
from tpustarter.text.terminal import cut_text, escape_text, wrap

MOST_FILES = 6
"""Most of the user's files that are shown."""
TPU = "v6e-8"
_MEANT = next(iter(suggestions.EXAMPLES))
"""The check used in the examples."""
_INDENT = "  "


def start_page_lines(folder: Path) -> Iterator[str]:
    """Yield the purpose of a rehearsal, examples, and the user's files; compiles nothing."""
    yield from wrap(
        "A rehearsal compiles your program for a TPU that you don't have, with the real TPU "
        "compiler. It shows whether the program compiles, and whether it fits into the memory of "
        "one device. Nothing is run on a TPU."
    )
    yield ""
    yield from _compiler(folder)
    yield "\nExamples"
    checks = [check for check in content.read_checks() if check.has_programs]
    jax = sum(check.framework == "jax" for check in checks)
    examples = (
        (f"tpustarter rehearse {_MEANT} --tpu {TPU}", "the programs of one check, for one TPU"),
        (f"tpustarter rehearse {_MEANT} --tpu v5e-1,v5p-8,tpu7x-8", "the same for several TPUs"),
        (
            f"tpustarter rehearse 'jax.*' --tpu {TPU}",
            f"all {jax} checks of JAX, in 3 to 8 minutes on two cores",
        ),
    )
    for command, does in examples:
        yield from _shown(command, does)
    yield "\nYour files in this folder"
    yield from _own(folder)
    yield ""
    yield from wrap(
        "`tpustarter rehearse --list` lists the checks with programs, and "
        "`tpustarter rehearse --help` explains every option, also those for PyTorch."
    )


def _shown(command: str, does: str) -> Iterator[str]:
    yield format_commands(f"{_INDENT}{escape_text(command)}")
    yield f"{_INDENT * 3}{does}"


def _compiler(folder: Path) -> Iterator[str]:
    for found in interpreters.find_pythons_with_libtpu(os.environ, folder):
        path = interpreters.format_path(found.path, os.environ, folder)
        yield from wrap(escape_text(f"The compiler is in {path}."))
        return
    yield from wrap(
        "The compiler isn't installed yet, and the commands below need it. This makes an "
        "environment with it (400 MB to download, 1.2 GB on the disk):"
    )
    yield format_commands(f"{_INDENT}tpustarter setup rehearse")


def _own(folder: Path) -> Iterator[str]:
    sources = file_functions.find_program_files(folder)
    if not sources:
        yield from wrap(
            "No Python file here imports JAX. Go to the folder of your program and type "
            f"`{tpustarter_command_anywhere()} rehearse` there.",
            _INDENT,
        )
    for one in sources[:MOST_FILES]:
        yield from _file(one)
    if more := sources[MOST_FILES:]:
        names = ", ".join(one.path.name for one in more)
        yield from wrap(escape_text(cut_text(f"and {len(more)} more: {names}", 200)), _INDENT)


def _file(one: FileSource) -> Iterator[str]:
    name = one.path.name
    named = ["jitted " * f.jitted + suggestions.format_signature(f) for f in one.functions]
    listed = phrases.join_words(named, most=suggestions.MOST_FUNCTIONS)
    about = listed or ("a script" if one.jits else "a script without `jax.jit`")
    yield from wrap(escape_text(f"{name}: {about}"), _INDENT, hang=_INDENT * 3)
    for program in suggestions.suggest_programs(one, name, (TPU,)):
        yield format_commands(f"{_INDENT * 3}{escape_text(program.command)}")
        for note in program.notes:
            yield from wrap(escape_text(note), _INDENT * 5)
