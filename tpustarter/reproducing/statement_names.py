"""The names that a statement refers to outside of itself, and their positions in the text.

A name that a function binds is local to it; the same name in another function is unrelated.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class NameReference:
    """A name used in a statement, and the attribute read from it, or "" for none."""

    name: str
    attribute: str
    """The name after the dot; empty if there is none."""
    line: int
    start: int
    end: int
    """Byte offset in the line, as `ast` counts it."""
    name_end: int
    hidden: frozenset[str]
    """Names that mean something else at this point, because a function binds them."""

    @property
    def sort_key(self) -> tuple[int, int]:
        """The key that sorts the references of a file by position."""
        return (self.line, self.start)

    def drop_attribute(self) -> NameReference:
        """Return the reference without its attribute."""
        return replace(self, attribute="", end=self.name_end)


def list_bound_names(node: ast.stmt) -> tuple[str, ...]:
    """Return the names that a statement binds in its module."""
    return tuple(dict.fromkeys(_bound_in([node])))


def find_references(node: ast.stmt) -> Iterator[NameReference]:
    """Yield the names that a module-level statement refers to, and those that it binds."""
    walker = _Walker()
    walker.statement(node)
    yield from walker.found


class _Walker(ast.NodeVisitor):
    def __init__(self) -> None:
        self.scopes: list[set[str]] = []
        self.found: list[NameReference] = []

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            self._add(node.name, "", node.lineno, node.col_offset + len("class "))
        elif isinstance(node, _FUNCTIONS):
            word = "def " if isinstance(node, ast.FunctionDef) else "async def "
            self._add(node.name, "", node.lineno, node.col_offset + len(word))
        self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if not self._is_local(node.id):
            self._add(node.id, "", node.lineno, node.col_offset)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        inner = node.value
        one_line = node.lineno == node.end_lineno
        if isinstance(inner, ast.Name) and one_line and not self._is_local(inner.id):
            end = node.end_col_offset or 0
            self._add(inner.id, node.attr, node.lineno, node.col_offset, end)
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outer in (*node.decorator_list, *_outside(node.args), node.returns):
            if outer is not None:
                self.visit(outer)
        self._inside(_arguments(node.args) | _own(node.body), node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  a name of `ast`

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for outer in _outside(node.args):
            if outer is not None:
                self.visit(outer)
        self._inside(_arguments(node.args), [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outer in (*node.decorator_list, *node.bases, *(one.value for one in node.keywords)):
            self.visit(outer)
        own = set(_bound_in(node.body))
        for one in node.body:
            # Methods do not see the names of their class.
            self._inside(set() if isinstance(one, _FUNCTIONS) else own, [one])

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, _LOOPS):
            own = {
                one.id
                for loop in node.generators
                for one in ast.walk(loop.target)
                if isinstance(one, ast.Name)
            }
            self.visit(node.generators[0].iter)
            self.scopes.append(own)
            self._visit_loop(node, node.generators[0])
            self.scopes.pop()
        else:
            super().generic_visit(node)

    def _visit_loop(self, node: ast.AST, first: ast.comprehension) -> None:
        for child in ast.iter_child_nodes(node):
            if child is first:
                for one in (first.target, *first.ifs):
                    self.visit(one)
            else:
                self.visit(child)

    def _inside(self, own: set[str], nodes: Iterable[ast.AST]) -> None:
        self.scopes.append(own)
        for one in nodes:
            self.visit(one)
        self.scopes.pop()

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def _add(self, name: str, attribute: str, line: int, start: int, end: int = 0) -> None:
        name_end = start + len(name.encode())
        hidden = frozenset[str]().union(*self.scopes)
        self.found.append(
            NameReference(name, attribute, line, start, end or name_end, name_end, hidden)
        )


def _outside(arguments: ast.arguments) -> Iterator[ast.expr | None]:
    """Yield the parts of a function's signature that are evaluated outside of it."""
    yield from arguments.defaults
    yield from arguments.kw_defaults
    for one in _all_arguments(arguments):
        yield one.annotation


def _all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    more = [one for one in (arguments.vararg, arguments.kwarg) if one]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def _arguments(arguments: ast.arguments) -> set[str]:
    return {one.arg for one in _all_arguments(arguments)}


def _own(body: Iterable[ast.stmt]) -> set[str]:
    shared = {
        name
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Global)
        for name in node.names
    }
    return set(_bound_in(body)) - shared


def _bound_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that statements bind, except inside functions and classes."""
    for node in nodes:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name
            continue
        if isinstance(node, (ast.Lambda, *_LOOPS)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (one.asname or one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        yield from _bound_in(ast.iter_child_nodes(node))


def format_imports(found: Mapping[str, Iterable[tuple[str, str]]], *, future: bool) -> str:
    """Format import statements in the linter's order.

    Args:
        found: The imports of each local name, as pairs of module and name; "" for a whole module.
        future: True to import `annotations` from `__future__`.
    """
    whole, parts = set[tuple[str, str]](), dict[str, set[str]]()
    every = ((local, *one) for local, several in found.items() for one in several)
    for local, module, name in every:
        if name:
            parts.setdefault(module, set()).add(name if name == local else f"{name} as {local}")
        else:
            bare = module.partition(".")[0] == local
            whole.add((module, "" if bare else f" as {local}"))
    sections: list[str] = ["from __future__ import annotations"] if future else []
    for standard in (True, False):
        lines = [
            f"import {module}{more}"
            for module, more in sorted(whole)
            if _is_standard(module) == standard
        ]
        for module in sorted(parts):
            if _is_standard(module) == standard:
                lines += _from_lines(module, parts[module])
        sections += ["\n".join(lines)] if lines else []
    return "\n\n".join(sections)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _case_order(name: str) -> tuple[int, str]:
    """Return a key that sorts constants, classes and functions as the linter does."""
    word = name.partition(" ")[0]
    kind = 0 if word.isupper() and len(word) > 1 else 1 if word[:1].isupper() else 2
    return (kind, name)


def _from_lines(module: str, names: set[str]) -> list[str]:
    """Return the imports from a module; a name with an alias gets its own line."""
    plain = sorted((one for one in names if " " not in one), key=_case_order)
    groups = [", ".join(plain)] if plain else []
    groups += [one for one in names if " " in one]
    lines = [(_case_order(one.partition(",")[0]), f"from {module} import {one}") for one in groups]
    return [line for _, line in sorted(lines)]
