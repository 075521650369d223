"""Split a module's source into statements with their comments."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from tpustarter.reproducing import statement_names
from tpustarter.reproducing.statement_names import NameReference

PACKAGE = "tpustarter."
_LEFT_OUT = ("with_defaults",)
"""Decorators that keep user settings from a check; a reproducer exists to try such settings."""

Key = tuple[str, str]
"""A module and a name in it."""


@dataclass
class SourcePiece:
    """A statement of a module, with the comments before it and the docstring after it."""

    module: str
    lines: list[str]
    first_line: int
    """The line number of `lines[0]` in the file."""
    names: tuple[str, ...]
    """The names that it binds."""
    references: list[NameReference]
    is_block: bool
    """True for a function or class, which has blank lines around it."""
    gap: bool
    """True if there is a blank line before it."""


@dataclass
class ModuleSource:
    """The statements and imports of one module."""

    name: str
    pieces: list[SourcePiece] = field(default_factory=list[SourcePiece])
    links: dict[str, Key] = field(default_factory=dict[str, Key])
    """Names that refer to a module of this program, or to a definition in one."""
    imports: dict[str, set[Key]] = field(default_factory=dict[str, set[Key]])
    """Names from other packages, each with its `(module, name)` pairs; `name` may be empty."""
    has_future: bool = False
    """True if it imports `annotations` from `__future__`."""
    doc: str = ""
    names: set[str] = field(default_factory=set[str])
    """The names that its statements bind."""

    def has_binding(self, name: str) -> bool:
        """Return whether a statement of this module binds a name."""
        return name in self.names


def parse_module(name: str, text: str) -> ModuleSource:
    """Parse a module into its statements and its imports."""
    tree, lines = ast.parse(text), text.splitlines()
    source = ModuleSource(name, doc=ast.get_docstring(tree) or "")
    body = tree.body[1:] if source.doc else tree.body
    end = tree.body[0].end_lineno or 0 if source.doc else 0
    for node in body:
        top = end
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.Import | ast.ImportFrom):
            _add_import(source, node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if source.pieces:  # the docstring of the previous statement
                source.pieces[-1].lines += lines[top:end]
        else:
            source.pieces.append(_piece(source, node, lines, top))
            source.names |= {*source.pieces[-1].names}
    for piece in source.pieces:
        piece.references = [
            one if one.name in source.links else one.drop_attribute() for one in piece.references
        ]
    return source


def _piece(source: ModuleSource, node: ast.stmt, lines: list[str], top: int) -> SourcePiece:
    first, last = node.lineno, node.end_lineno or node.lineno
    dropped: set[int] = set()
    is_block = isinstance(node, ast.FunctionDef | ast.ClassDef)
    if is_block:
        kept: list[ast.expr] = []
        for one in node.decorator_list:
            first = min(first, one.lineno)
            if ast.unparse(one).rpartition(".")[2] in _LEFT_OUT:
                dropped |= {*range(one.lineno, (one.end_lineno or one.lineno) + 1)}
            else:
                kept.append(one)
        node.decorator_list = kept
    while first - 1 > top and lines[first - 2].startswith("#"):
        first -= 1
    while first in dropped:
        first += 1
    return SourcePiece(
        source.name,
        lines[first - 1 : last],
        first,
        statement_names.list_bound_names(node),
        list(statement_names.find_references(node)),
        is_block,
        gap=first - 1 > top and not lines[first - 2].strip(),
    )


def _add_import(source: ModuleSource, node: ast.Import | ast.ImportFrom) -> None:
    for one in node.names:
        if isinstance(node, ast.ImportFrom):
            local, module, inner = one.asname or one.name, node.module or "", one.name
        else:
            local, module, inner = one.asname or one.name.partition(".")[0], one.name, ""
        if module == "__future__":
            source.has_future = True
        elif module == "tpustarter" or module.startswith(PACKAGE):
            source.links[local] = (module, inner)
        else:
            source.imports.setdefault(local, set()).add((module, inner))


def keep_table_rows(piece: SourcePiece, name: str | None) -> None:
    """Remove all rows of the table of TPU generations except the named one."""
    value = getattr(ast.parse("\n".join(piece.lines)).body[0], "value", None)
    if not isinstance(value, ast.Tuple):
        return
    tops = [*(row.lineno for row in value.elts), value.end_lineno or len(piece.lines)]
    without = {
        line
        for row, top, end in zip(value.elts, tops[:-1], tops[1:], strict=True)
        if _name_of(row) != name
        for line in range(top, end)
    }
    kept = [line for line in range(1, len(piece.lines) + 1) if line not in without]
    moved = {
        piece.first_line + line - 1: piece.first_line + place for place, line in enumerate(kept)
    }
    piece.lines = [piece.lines[line - 1] for line in kept]
    piece.references = [
        replace(one, line=moved[one.line]) for one in piece.references if one.line in moved
    ]


def _name_of(row: ast.expr) -> object:
    words = row.keywords if isinstance(row, ast.Call) else []
    value = next((one.value for one in words if one.arg == "name"), None)
    return value.value if isinstance(value, ast.Constant) else None
