"""Private names of Textual: only `tui/terminal/` uses them."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from tpustarter import tui

MAY_USE = "tpustarter.tui.terminal."
HOOKS = ("watch_", "validate_", "compute_")
"""Hooks that Textual calls for a reactive attribute: `watch__suggestion` for `_suggestion`."""


def is_private(name: str) -> bool:
    """Return whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def is_own(node: ast.Attribute) -> bool:
    """Return whether the attribute belongs to `self`, `cls` or `super()`."""
    return ast.unparse(node.value) in ("self", "cls", "super()")


@cache
def private_names(owner: type) -> frozenset[str]:
    """Return the private attributes that the source of a class defines or sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    stored = {node.attr for node in attributes if isinstance(node.ctx, ast.Store) and is_own(node)}
    return frozenset(filter(is_private, stored | set(vars(owner))))


def names_of_textual(owner: type) -> set[str]:
    """Return the private attributes that a class has from classes of Textual."""
    parents = [parent for parent in owner.__mro__ if parent.__module__.split(".")[0] == "textual"]
    return {name for parent in parents for name in private_names(parent)}


def named(node: ast.AST) -> str:
    """Return the attribute used or the method defined at a node."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        hook = next((hook for hook in HOOKS if node.name.startswith(hook)), "")
        return node.name.removeprefix(hook)
    return node.attr if isinstance(node, ast.Attribute) and is_own(node) else ""


def private_uses(module: ModuleType) -> Iterator[str]:
    """Yield each use of a private name of Textual in a module.

    Ruff (SLF001) refuses those of other objects than `self`, as in `screen._compositor`.
    """
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_bytes())):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "textual":
            path = [*str(node.module).split("."), *(alias.name for alias in node.names)]
            if any(map(is_private, path)):
                yield f"{module.__name__} imports from {node.module}"
        owner = getattr(module, node.name, None) if isinstance(node, ast.ClassDef) else None
        if isinstance(owner, type):
            private = names_of_textual(owner)
            uses = {name for inner in ast.walk(node) if (name := named(inner)) in private}
            yield from (f"{module.__name__}.{owner.__name__} uses {use}" for use in sorted(uses))


def test_private_textual_is_used_in_one_folder() -> None:
    """Only `tui/terminal/` uses private names of Textual, imports and overrides included."""
    modules = [one.name for one in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}.")]
    others = [importlib.import_module(name) for name in modules if not name.startswith(MAY_USE)]
    assert [] == [use for module in others for use in private_uses(module)]


def test_the_rule_of_private_names_can_fail(tmp_path: Path) -> None:
    """The rule finds a private import, attribute, overridden method and hook."""
    path = tmp_path / "sample.py"
    path.write_text(
        "from textual._context import active_app\n"
        "from textual.keys import _character_to_key\n"
        "from textual.widgets import Input\n\n\n"
        "class Line(Input):\n"
        "    def watch__suggestion(self):\n"
        "        self._own = self._id\n\n"
        "    async def _on_key(self, event):\n"
        "        super()._watch_value(self.value)\n"
    )
    spec = importlib.util.spec_from_file_location("sample", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert [
        "sample imports from textual._context",
        "sample imports from textual.keys",
        "sample.Line uses _id",
        "sample.Line uses _on_key",
        "sample.Line uses _suggestion",
        "sample.Line uses _watch_value",
    ] == list(private_uses(module))
