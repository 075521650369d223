"""The functions and uses of `jit` in a user's Python file, which is parsed and never run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import cast

MOST_BYTES = 400_000
"""Largest file that is read; anything larger counts as data written as Python."""
MOST_FILES = 60
"""Most files that are read from a folder."""
JAX = frozenset({"jax", "flax", "optax", "equinox", "haiku", "penzai", "maxtext", "levanter"})
DEVICES_PARAMETER = "devices"
"""Name of the first parameter of a function that lists programs; any other is a program itself."""
SCRIPT = "__name__"

_JIT = re.compile(r"(?:^|\.)(?:(?:filter_)?p?jit|pmap)$")
_JITS = re.compile(r"\b(?:(?:filter_)?p?jit|pmap)\b")
_FILLED = ("partial", "functools.partial")
_OPTAX = "optax"


@dataclass(frozen=True)
class FileFunction:
    """A function at the top level of a file, and its parameters."""

    name: str
    needed: tuple[str, ...] = ()
    """Names of the required arguments, those by position first."""
    most: int | None = 0
    """Most positional arguments that it takes; None for no limit."""
    by_name: tuple[str, ...] = ()
    """Those of `needed` that are keyword-only."""
    static: tuple[str, ...] = ()
    """Arguments that are not arrays, named by `static_argnums` and `static_argnames`."""
    jitted: bool = False
    takes: tuple[str, ...] = ()
    """Names of all arguments that can be passed by name."""
    defaults: tuple[tuple[str, int], ...] = ()
    """Defaults that are integers, by argument name."""
    certain: bool = True
    """True if its parameters are certain; an unknown decorator may change them."""

    @property
    def lists_programs(self) -> bool:
        """True if the function lists programs to rehearse, rather than being one."""
        return self.needed[:1] == (DEVICES_PARAMETER,)


@dataclass(frozen=True)
class FileSource:
    """The functions of a user's Python file, and its uses of `jit`."""

    path: Path
    functions: tuple[FileFunction, ...]
    bound: frozenset[str]
    """All names that the file may bind, not only those of functions."""
    complete: bool
    """True if `bound` is complete: no `from ... import *`, no `globals()`, no `__getattr__`."""
    imports: frozenset[str]
    """Names of the packages that it imports."""
    jits: bool
    """True if it mentions `jit` or `pmap`."""
    runs: bool
    """True if running it does more than define and import."""
    values: frozenset[str] = frozenset()
    """Names that are assigned at its top level."""
    optimizers: tuple[str, ...] = ()
    """Those of `values` that are Optax optimizers."""

    def find_function(self, name: str) -> FileFunction | None:
        """Return a function by its name, or None if it is unknown."""
        return next((one for one in self.functions if one.name == name), None)

    @property
    def uses_jax(self) -> bool:
        """True if the file looks like a JAX program."""
        return bool(self.imports & JAX)


def read_source(path: Path) -> FileSource | None:
    """Parse a Python file; return None if it cannot be read or is not valid Python."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        text = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the user's own strings
            tree = ast.parse(text, str(path))
        nodes = list(ast.walk(tree))
        functions = tuple(_functions(tree.body))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    imported = set(_imports(nodes))
    words = text.decode("utf-8", "replace")
    return FileSource(
        path,
        functions,
        frozenset(_bound(nodes)),
        complete="*" not in imported and "globals()" not in words and "__getattr__" not in words,
        imports=frozenset(imported),
        jits=bool(_JITS.search(words)),
        runs=any(_does_something(node) for node in tree.body),
        values=frozenset(name for name, _ in _values(tree.body)),
        optimizers=tuple(name for name, value in _values(tree.body) if _is_optimizer(value)),
    )


def find_program_files(folder: Path) -> list[FileSource]:
    """Return the files of a folder that look like JAX programs and define or run something.

    A script that imports such a file counts too, and its uses of `jit` include that file's.
    """
    try:
        paths = sorted(islice((p for p in folder.glob("*.py") if p.is_file()), MOST_FILES))
    except OSError:
        return []
    sources = [one for path in paths if (one := read_source(path))]
    of_jax = {one.path.stem: one for one in sources if one.uses_jax}
    return [
        one
        for one in map(partial(_with_own, of_jax=of_jax), sources)
        if one.uses_jax and (one.functions or one.runs)
    ]


def _with_own(script: FileSource, of_jax: Mapping[str, FileSource]) -> FileSource:
    own = [of_jax[name] for name in script.imports & of_jax.keys()]
    if not (own and script.runs):
        return script
    imports = script.imports.union(*(one.imports for one in own))
    return replace(script, imports=imports, jits=script.jits or any(one.jits for one in own))


def _functions(body: Iterable[ast.stmt]) -> Iterator[FileFunction]:
    known: dict[str, FileFunction] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            known[node.name] = _defined(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name) and (found := _assigned(node.value, known)):
                    known[target.id] = replace(found, name=target.id)
    yield from (one for one in known.values() if not one.name.startswith("_"))


def _defined(node: ast.FunctionDef) -> FileFunction:
    jits = [one for one in node.decorator_list if _jit_call(one) is not None]
    static = [name for one in jits for name in _static(_jit_call(one) or [], node.args)]
    certain = len(jits) == len(node.decorator_list)
    return _listed(node.name, node.args, static, jitted=bool(jits), certain=certain)


def _assigned(value: ast.expr, known: dict[str, FileFunction]) -> FileFunction | None:
    if isinstance(value, ast.Lambda):
        return _listed("", value.args, [], jitted=False, certain=True)
    if not isinstance(value, ast.Call) or not value.args or _jit_call(value) is None:
        return None
    inner, options = value.args[0], bool(value.keywords)
    if isinstance(inner, ast.Lambda):
        return _listed(
            "", inner.args, _static(value.keywords, inner.args), jitted=True, certain=True
        )
    of = known.get(inner.id) if isinstance(inner, ast.Name) else None
    if of is None:
        return FileFunction("", jitted=True, certain=False)
    plain = not options or all(one.arg and "static" not in one.arg for one in value.keywords)
    return replace(of, jitted=True, certain=of.certain and plain)


def _listed(
    name: str, takes: ast.arguments, static: list[str], *, jitted: bool, certain: bool
) -> FileFunction:
    by_position = [one.arg for one in (*takes.posonlyargs, *takes.args)]
    first = by_position[: len(by_position) - len(takes.defaults)]
    pairs = list(zip(takes.kwonlyargs, takes.kw_defaults, strict=True))
    by_name = [one.arg for one, default in pairs if default is None]
    values = [*zip(by_position[len(first) :], takes.defaults, strict=True)]
    values += [(one.arg, default) for one, default in pairs if default is not None]
    return FileFunction(
        name,
        (*first, *by_name),
        None if takes.vararg else len(by_position),
        tuple(by_name),
        tuple(static),
        jitted,
        takes=tuple(one.arg for one in (*takes.args, *takes.kwonlyargs)),
        defaults=tuple(
            (one, value.value)
            for one, value in values
            if isinstance(value, ast.Constant) and type(value.value) is int
        ),
        certain=certain,
    )


def _values(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value:
            targets, value = [node.target], node.value
        else:
            continue
        yield from ((one.id, value) for one in targets if isinstance(one, ast.Name))


def _is_optimizer(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _name(value.func).partition(".")[0] == _OPTAX


def _jit_call(node: ast.expr) -> list[ast.keyword] | None:
    if _JIT.search(_name(node)):
        return []
    if isinstance(node, ast.Call):
        if _JIT.search(_name(node.func)):
            return node.keywords
        if _name(node.func) in _FILLED and node.args and _JIT.search(_name(node.args[0])):
            return node.keywords
    return None


def _name(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _static(options: list[ast.keyword], takes: ast.arguments) -> list[str]:
    names = [one.arg for one in (*takes.posonlyargs, *takes.args)]
    found: list[str] = []
    for option in options:
        if option.arg not in ("static_argnums", "static_argnames"):
            continue
        try:
            value: object = ast.literal_eval(option.value)
        except (ValueError, TypeError):
            continue
        several = cast("tuple[object, ...]", value) if isinstance(value, tuple | list) else (value,)
        for one in several:
            if isinstance(one, str):
                found.append(one)
            elif isinstance(one, int) and -len(names) <= one < len(names):
                found.append(names[one])
    return found


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    # `*` stands for names that the source does not show.
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name == "*")
            if node.module and not node.level:
                yield node.module.partition(".")[0]


def _does_something(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.For | ast.While | ast.With) or (
        isinstance(node, ast.If) and SCRIPT in ast.unparse(node.test)
    )
