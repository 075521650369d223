"""Check the names that a lesson's blocks define and use.

No block may depend on a name defined in a block that the learner edits. Code is parsed, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tpustarter.learning.content.blocks import Block


def find_unavailable_names(blocks: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """Yield uses of a name that only a block for the learner to change defines.

    A learner who skips such a block, or fills it in wrongly, must still be able to run the others.
    """
    unsure: dict[str, str] = {}
    for block in blocks:
        tree = _parsed(block.expected_code)
        made = _made(tree) | _made(_parsed(block.code))
        if block.is_try:
            unsure |= dict.fromkeys(made, block.id)
            continue
        for name in sorted(_used_before_made(tree) & unsure.keys()):
            what = f"the block `{block.id}` uses `{name}`, which `{unsure[name]}` makes or changes"
            yield block.line, f"{what}, a block that the learner may leave as it is"
        for name in made:
            unsure.pop(name, None)


def _parsed(code: str) -> ast.Module:
    """Parse a program; invalid Python, such as code with a gap, gives an empty module."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the gate reports broken blocks
        return ast.Module([], [])


def _made(tree: ast.Module) -> set[str]:
    """Return the names that a program defines, except those inside its functions."""
    names: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(
            node, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
        ):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        todo += ast.iter_child_nodes(node)
    return names


def _used_before_made(tree: ast.Module) -> set[str]:
    made: set[str] = set()
    used: set[str] = set()
    for statement in tree.body:
        nodes = list(ast.walk(statement))
        loads = {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        local = {node.arg for node in nodes if isinstance(node, ast.arg)}
        for node in nodes:
            if isinstance(node, ast.comprehension | ast.FunctionDef | ast.For):
                local |= _stored(node)
        used |= loads - made - local
        made |= _made(ast.Module([statement], []))
    return used


def _stored(node: ast.AST) -> set[str]:
    return {
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
