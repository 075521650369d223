"""How the program is layered: the order of its packages, imports against it, circles, sizes.

`python tests/structure.py [FOLDER]` prints it, of the package that is installed or of another one.
The order is what the map in the package's `__init__.py` says; `test_rules.py` proves that it holds.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

GROUND = "ground"
"""The layer of the modules at the root of the package."""
TOP = ("__init__", "__main__")
"""The public API and the start: they may import from everywhere."""
APART = {frozenset({"cli", "tui"})}
"""Layers that never import each other, whichever stands above."""


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder, without those of content shipped inside it."""
    return [
        path
        for path in sorted(folder.rglob("*.py"))
        if not {"checks", "lessons"} & set(path.relative_to(folder).parts)
    ]


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yield every name a tree imports, wherever the import stands: in a function, for a type."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import has no place here: it is named so that it is seen as foreign.
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def module_name(package: Path, path: Path) -> str:
    """Return `checking.plan` for a file of the package; a package is its `__init__`."""
    return ".".join(path.relative_to(package).with_suffix("").parts)


def graph(package: Path) -> dict[str, set[str]]:
    """Return which modules of the package each of its modules imports, by their names in it."""
    modules = {module_name(package, path): path for path in python_files(package)}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        imported: set[str] = set()
        for target in imported_names(ast.parse(path.read_bytes())):
            parts = target.split(".")
            if parts[0] != package.name:
                continue
            inside = parts[1:]
            # `from package.module import name`, a module of a package, or the package itself.
            candidates = [".".join(inside), ".".join(inside[:-1])]
            candidates += [f"{one}.__init__" if one else "__init__" for one in candidates]
            imported |= {next(one for one in candidates if one in modules)} - {name}
        found[name] = imported
    return found


def order(package: Path) -> list[str]:
    """Return the layers that the map in the package's docstring names, top first."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_bytes())) or ""
    return re.findall(rf"^    (\w+(?=/)|{GROUND}\b)", text, re.MULTILINE)


def ground(package: Path) -> list[str]:
    """Return the modules at the root that the map names."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_bytes())) or ""
    found = re.search(rf"^    {GROUND} .*\n((?: {{8,}}[\w, ]+\n)+)", f"{text}\n", re.MULTILINE)
    return sorted(re.findall(r"\w+", found[1])) if found else []


def at_the_root(package: Path) -> list[str]:
    """Return the modules that lie at the root of the package."""
    return sorted(path.stem for path in package.glob("*.py") if path.stem not in TOP)


def layer(module: str) -> str:
    """Return the layer a module belongs to."""
    first, dot, _ = module.partition(".")
    return first if dot else GROUND


def not_in_the_map(package: Path) -> list[str]:
    """Return the packages that the map lacks, and the layers it names that are not there."""
    folders = {path.parent.name for path in package.glob("*/__init__.py")} | {GROUND}
    return sorted(folders ^ set(order(package)) - {"checks", "lessons"})


def imports_upwards(package: Path) -> list[str]:
    """Return the imports that go against the order."""
    layers = order(package)
    found: list[str] = []
    for module, imported in graph(package).items():
        if module in TOP:
            continue
        for other in sorted(imported):
            here, there = layer(module), layer(other)
            if other in TOP:
                found.append(f"{module} imports {other}")
            elif here == there:
                continue
            elif missing := sorted({here, there} - set(layers)):
                found.append(f"{module} imports {other}: `{missing[0]}/` is not in the map")
            elif layers.index(here) > layers.index(there) or {here, there} in APART:
                found.append(f"{module} imports {other}")
    return found


def circles(package: Path) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    imported = graph(package)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for one in imported[waiting.pop()] - found:
                found.add(one)
                waiting.append(one)
        return found

    reach = {module: reached(module) for module in imported}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach[other]))
        for module in imported
        if module in reach[module]
    }
    return [list(group) for group in sorted(groups)]


def sizes(package: Path) -> dict[str, int]:
    """Return the number of lines of every module, packages' own files included."""
    return {
        module_name(package, path): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(package)
    }


def report(package: Path) -> str:
    """Return all of it as text."""
    layers, lengths = order(package), sizes(package)
    layers = layers if GROUND in layers else []
    largest = sorted(lengths, key=lambda module: -lengths[module])[:5]
    upwards, rings = imports_upwards(package) if layers else [], circles(package)
    # A file that holds a docstring alone would make the median look better than it is.
    code = [lines for module, lines in lengths.items() if lines > 1]
    return "\n".join([
        f"order of packages, top first: {', '.join(layers) or 'none is written'}",
        f"imports against it: {len(upwards) if layers else 'unknown, as none is written'}",
        *(f"  {one}" for one in upwards),
        f"circles: {len(rings)}",
        *(f"  {len(ring)} modules: {', '.join(ring)}" for ring in rings),
        f"modules: {len(code)}, of which {len(at_the_root(package))} lie at the root",
        f"lines of a module: median {statistics.median(code):g}, largest "
        + ", ".join(f"{module} {lengths[module]}" for module in largest),
    ])  # fmt: skip


if __name__ == "__main__":
    named = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "tpustarter"
    print(report(named.resolve()))
    sys.exit(bool(imports_upwards(named) or circles(named) or not_in_the_map(named)))
