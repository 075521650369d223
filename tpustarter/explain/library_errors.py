"""The library that raised an error: its function, the failed condition, and its documentation.

The condition and the documentation come from the library's source on this machine, if present. It
is parsed and never run, and a function counts only if it raises the same error.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from tpustarter.core import locations, yaml_rows
from tpustarter.core.yaml_rows import Text, Texts
from tpustarter.explain.tracebacks import Traceback, TracebackFrame
from tpustarter.text.terminal import cut_text

FILE = Path(__file__).with_name("libraries.yml")
PYTHON = "Python"
"""The standard library's name."""

_PACKAGES = re.compile(r"^.*/(?:site|dist)-packages/")
_STARTER = re.compile(r"(?:sys\.exit|raise SystemExit)\(|$")
"""The last line of what pip writes into bin, or a line that the traceback lacks."""
_STANDARD = re.compile(r"^(?:.*/lib/python3[.\d]*/|<frozen )")
_IMAGE = r"^/(?:app|build|code|deps|opt|src|workdir|workspace)/(?:src/)?"
"""Folders into which a container image copies a cloned package."""
_MOST_BYTES = 2 << 20
"""Largest source file that is read, in bytes."""
_MOST_FUNCTIONS = 8
"""Most functions of the same name in a file that are compared with the error."""
_LONGEST = 200
"""Longest condition or sentence of documentation, in characters."""
_LAST_FRAMES = 6
"""Most frames at a traceback's end whose libraries are named together."""
_LEAST = 6
"""Shortest text in a `raise` that distinguishes it from others, in characters."""
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_RAISES = re.compile(r"^(?P<indent> *)(?:Raises|:raises).*$", re.MULTILINE)


class Library(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A library used by TPU programs."""

    modules: Texts
    """The folders that it installs."""
    issues: Text
    """The page for reporting its bugs."""
    checkout: str = ""
    """Pattern for a path up to its folder in a clone; empty if it is never run from one."""


@dataclass(frozen=True)
class LibraryError:
    """An error raised by a library."""

    library: str
    """Its module, such as `jax`, or `Python`."""
    function: str
    """The function that raised it; empty if the traceback lacks it."""
    place: str
    """The file in the library and the line; empty if the traceback lacks them."""
    caller: str
    """The program's own last line; empty if the traceback has none."""
    issues: str = ""
    """The page for reporting this library's bugs; empty if unknown."""
    condition: str = ""
    """The condition as the source states it; empty if not found."""
    documentation: str = ""
    """A sentence about the function, if any."""
    documented: str = ""
    """The function that the sentence describes."""
    source: str = ""
    """The file on this machine that was read, if any."""
    packages: tuple[str, ...] = ()
    """The libraries of the traceback's last frames, innermost first."""


@functools.cache
def read_libraries(file: Path = FILE) -> tuple[Library, ...]:
    """Read the libraries; raise Problem if a row is invalid."""
    return yaml_rows.read_rows(file, Library)


def find_library_of_file(file: str) -> tuple[str, str]:
    """Return a file's library and its path in the library; both are empty for a user's file.

    Python's own files belong to the library `Python`.
    """
    file = file.replace("\\", "/")
    if match := _PACKAGES.match(file):
        rest = file[match.end() :]
        return rest.partition("/")[0].removesuffix(".py"), rest
    for library in read_libraries():
        if library.checkout and (match := re.search(_clone(library), file)):
            rest = file[match.end() :]
            return rest.partition("/")[0], rest
    if match := _STANDARD.match(file):
        return PYTHON, file[match.end() :].removesuffix(">")
    return "", ""


def _clone(library: Library) -> str:
    return f"{library.checkout}|{_IMAGE}(?=(?:{'|'.join(library.modules)})/)"


def is_user_frame(frame: TracebackFrame) -> bool:
    """Return whether a frame is in the user's file, which no library has, generated or installed.

    Dataclasses and named tuples generate methods, whose file is `<string>`; what a user gives to
    `python -c` has that file too, and is a module. What starts an installed program, such as
    bin/vllm, has no suffix and calls the program's function; a user's own ~/bin/train does more.
    """
    file = PurePosixPath(frame.file)
    is_generated = frame.file == "<string>" and frame.name.startswith("__")
    is_program = file.parent.name == "bin" and not file.suffix and frame.name == "<module>"
    is_installed = file.suffix == ".pyx" or (is_program and bool(_STARTER.match(frame.code)))
    return not (is_generated or is_installed or find_library_of_file(frame.file)[0])


def find_raising_frame(traceback: Traceback) -> TracebackFrame | None:
    """Return the frame that raised an error, or None if the traceback has no frames.

    A raising `__getattr__` is passed over in favour of the line that accessed the attribute.
    """
    frames = [one for one in traceback.frames if one.name != "__getattr__"]
    return frames[-1] if frames else None


def find_last_user_frame(traceback: Traceback) -> TracebackFrame | None:
    """Return the last frame in one of the user's files, or None if there is none."""
    return next((one for one in reversed(traceback.frames) if is_user_frame(one)), None)


def find_program_line(traceback: Traceback) -> str:
    """Return the program's last line in a traceback, or "" if there is none."""
    own = find_last_user_frame(traceback)
    return own.text if own else ""


def find_library_error(traceback: Traceback, prefixes: Iterable[Path] = ()) -> LibraryError | None:
    """Return the library that raised a traceback's error, or None if the program itself did.

    Also None if no error follows the frames, because the last frame need not have raised it.

    Args:
        traceback: The traceback, with its error.
        prefixes: Prefixes of Python installations to search for the source, after the traceback's
            path.
    """
    raiser = find_raising_frame(traceback)
    if raiser is None or not traceback.error:
        return None
    caller = find_program_line(traceback)
    if traceback.hides_jax and is_user_frame(raiser):
        return LibraryError("jax", "", "", caller, _issues("jax"))
    library, rest = find_library_of_file(raiser.file)
    if not library:
        return None
    place = f"{rest}, line {raiser.line}" if raiser.line else rest
    name = "" if raiser.name.startswith("<") else raiser.name
    packages = _list_packages(traceback)
    found = LibraryError(library, name, place, caller, _issues(library), packages=packages)
    folders = list(prefixes)
    for source in _list_sources(raiser, folders):
        if condition := _find_condition(source, raiser, traceback.error):
            documented, sentence = _find_documentation(traceback, library, folders)
            return replace(
                found,
                condition=condition,
                documentation=sentence,
                documented=documented,
                source=str(source),
            )
    return found


def find_library_of_call(traceback: Traceback) -> LibraryError | None:
    """Return the library of a cut traceback's last call, or None if the library is unknown."""
    library, rest = (
        find_library_of_file(traceback.frames[-1].file) if traceback.frames else ("", "")
    )
    if not _issues(library):  # such as a notebook or a wrapper, which explains nothing
        return None
    last = traceback.frames[-1]
    name = "" if last.name.startswith("<") else last.name
    place = f"{rest}, line {last.line}" if last.line else rest
    return LibraryError(library, name, place, find_program_line(traceback), _issues(library))


def _list_packages(traceback: Traceback) -> tuple[str, ...]:
    """Return the libraries of a traceback's last frames, without Python, innermost first."""
    frames = reversed(traceback.frames[-_LAST_FRAMES:])
    found = dict.fromkeys(find_library_of_file(one.file)[0] for one in frames)
    return tuple(one for one in found if one and one != PYTHON)


def _issues(library: str) -> str:
    return next((one.issues for one in read_libraries() if library in one.modules), "")


def _list_sources(frame: TracebackFrame, prefixes: Sequence[Path]) -> Iterator[Path]:
    """Yield the files on this machine that may be a frame's source."""
    _, rest = find_library_of_file(frame.file)
    named = locations.expand_path(frame.file)
    folders = (one for prefix in prefixes for one in prefix.glob("lib/python3*/site-packages"))
    for path in (*([named] if named.is_absolute() else []), *(one / rest for one in folders)):
        # A log may name any file, so only a Python file of ordinary size is opened.
        with contextlib.suppress(OSError, ValueError):
            if path.suffix == ".py" and path.is_file() and path.stat().st_size <= _MOST_BYTES:
                yield path


def _find_condition(source: Path, frame: TracebackFrame, error: str) -> str:
    """Return the condition under which a function raised an error, or "" if not found."""
    found = [
        (_rank(node, line, frame, error), _condition(node, above, text))
        for text, line, function in _functions(source, frame)
        for node, above in _walk(function, ())
        if isinstance(node, ast.Raise | ast.Assert)
    ]
    rank, condition = max(found, key=lambda pair: pair[0], default=(0, ""))
    return condition if rank else ""


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(source: Path, frame: TracebackFrame) -> Iterator[tuple[str, int, _Function]]:
    """Yield a file's functions with the frame's name: text, number of lines before, and AST."""
    name = frame.name.rpartition(".")[2]
    try:
        lines = source.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return
    begins = re.compile(rf"^([ \t]*)(?:async )?def {re.escape(name)}\b")
    starts = [(at, match[1]) for at, line in enumerate(lines) if (match := begins.match(line))]
    starts.sort(key=lambda start: (start[0] >= frame.line, abs(frame.line - start[0])))
    for at, indent in starts[:_MOST_FUNCTIONS]:
        outside = re.compile(rf"{indent}(?![ \t#)\]}}])\S|(?!{indent})[ \t]*[^\s#)]")
        end = next((to for to in range(at + 1, len(lines)) if outside.match(lines[to])), len(lines))
        text = textwrap.dedent("\n".join(lines[at:end]))
        try:
            function = ast.parse(text).body[0]
        except (SyntaxError, ValueError):
            continue
        if isinstance(function, _Function):
            yield text, at, function


def _walk(
    node: ast.AST, above: tuple[ast.AST, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    for child in ast.iter_child_nodes(node):
        yield child, (*above, node)
        yield from _walk(child, (*above, node))


def _rank(node: ast.Raise | ast.Assert, line: int, frame: TracebackFrame, error: str) -> int:
    """Return a score for how well a statement matches an error, or 0 if it raises another."""
    name, _, message = error.partition(": ")
    kind = name.rpartition(".")[2]
    call = node.exc if isinstance(node, ast.Raise) else node.msg
    raised = call.func if isinstance(call, ast.Call) else call
    if isinstance(node, ast.Assert):
        is_kind = kind == "AssertionError"
    else:
        is_kind = raised is not None and ast.unparse(raised).rpartition(".")[2] == kind
    texts = [
        " ".join(one.value.split())
        for one in (ast.walk(call) if call else ())
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    said = " ".join(message.split())
    heard = sum(len(text) for text in texts if len(text) >= _LEAST and text in said)
    is_there = node.lineno <= frame.line - line <= (node.end_lineno or 0)
    if not is_kind or not (heard or is_there):
        return 0
    # If the messages differ, the line number may be from another version, so it does not count.
    return heard + is_there if heard or not [text for text in texts if len(text) >= _LEAST] else 0


def _condition(node: ast.Raise | ast.Assert, above: Sequence[ast.AST], text: str) -> str:
    if isinstance(node, ast.Assert):
        return _cut(f"not ({_segment(text, node.test)})")
    inner: ast.AST = node
    for one in reversed(above):
        if isinstance(one, ast.If | ast.While):
            test = _segment(text, one.test)
            return _cut(test if inner in one.body else f"not ({test})")
        if isinstance(one, ast.ExceptHandler):
            return _cut(f"except {_segment(text, one.type)}" if one.type else "except")
        inner = one
    return ""


def _segment(text: str, node: ast.AST) -> str:
    return " ".join((ast.get_source_segment(text, node) or ast.unparse(node)).split())


def _cut(text: str) -> str:
    return cut_text(" ".join(text.split()), _LONGEST)


def _find_documentation(
    traceback: Traceback, library: str, prefixes: Sequence[Path]
) -> tuple[str, str]:
    """Return the library's innermost documented function in a traceback, and a sentence."""
    kind = traceback.error.partition(":")[0].rpartition(".")[2]
    for frame in reversed(traceback.frames):
        if find_library_of_file(frame.file)[0] != library:
            break
        for source in _list_sources(frame, prefixes):
            # Only the nearest: a class further away may have a method of the same name.
            _, _, function = next(iter(_functions(source, frame)), (0, 0, None))
            text = ast.get_docstring(function) if function else None
            if function and text and (said := _choose_sentence(text, kind)):
                return function.name, said
    return "", ""


def _choose_sentence(documentation: str, kind: str) -> str:
    """Return the sentence of a docstring about an exception, or else its first sentence."""
    if match := _RAISES.search(documentation):
        entry = re.search(
            rf"\b{re.escape(kind)}\b:?(.*(?:\n[^\n:]+)*)", documentation[match.start() :]
        )
        if entry:
            return _cut(f"{kind}: {entry[1].strip()}")
    first = " ".join(documentation.partition("\n\n")[0].split())
    return _cut(_SENTENCE.split(first)[0])
