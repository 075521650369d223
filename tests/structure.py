"""Report the layers of the program and the statistics of its code.

`python tests/structure.py [FOLDER]` prints both, of this program or of any other package.
The order of layers is what the map in the package's `__init__.py` says; `tests/rules` proves that
it holds.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

GROUND = "ground"
"""The layer of the modules at the root of the package."""
TOP = ("__init__", "__main__")
"""The public API and the start: they may import from everywhere."""
APART = {frozenset({"cli", "tui"})}
"""Layers that never import each other, whichever stands above."""
CRUMB_LINES = 60
"""A shorter module that one other imports may as well be a part of that one."""
SKIP = "fmt: " + "skip"
VAGUE = re.compile(r"(\w+ )?(what|says?|tells?)\b", re.IGNORECASE)
"""How a docstring begins that names no thing: `Say ...`, `Return what ...`."""


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder, without those of content shipped inside it."""
    return [
        path
        for path in sorted(folder.rglob("*.py"))
        if path.relative_to(folder).parts[0] not in ("checks", "lessons")
    ]


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file; files of equal content share one, so change none."""
    return _parse(path.read_bytes())


@cache
def _parse(source: bytes) -> ast.Module:
    return ast.parse(source)


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
        for target in imported_names(parse(path)):
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
    text = ast.get_docstring(parse(package / "__init__.py")) or ""
    return re.findall(rf"^    (\w+(?=/)|{GROUND}\b)", text, re.MULTILINE)


def ground(package: Path) -> list[str]:
    """Return the modules at the root that the map names."""
    text = ast.get_docstring(parse(package / "__init__.py")) or ""
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


def trees(package: Path) -> list[ast.Module]:
    """Return the syntax trees of the modules."""
    return [parse(path) for path in python_files(package)]


def folders(package: Path) -> dict[str, dict[str, int]]:
    """Return the modules with code that lie in each folder, with their lines; `.` is the root."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for module, lines in sizes(package).items():
        folder, _, name = module.rpartition(".")
        if lines > 1:  # a file that holds a docstring alone is no module to speak of
            found[folder.replace(".", "/") or "."][name] = lines
    return found


def only_importers(package: Path) -> dict[str, str]:
    """Return the modules that exactly one other imports, each with that one."""
    importers: dict[str, list[str]] = defaultdict(list)
    for module, imported in graph(package).items():
        for other in imported:
            importers[other].append(module)
    return {
        module: ones[0]
        for module, ones in sorted(importers.items())
        if len(ones) == 1 and "__" not in module
    }


def repeated_classes(package: Path) -> dict[str, int]:
    """Return the names that several public classes share, with how many do."""
    names = Counter(
        node.name
        for tree in trees(package)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name: count for name, count in sorted(names.items()) if count > 1}


def docstrings(package: Path) -> list[str]:
    """Return the docstrings of modules, classes and functions."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = (node for tree in trees(package) for node in ast.walk(tree))
    found = (ast.get_docstring(node) for node in nodes if isinstance(node, documented))
    return [text for text in found if text]


def loose_ends(package: Path) -> dict[str, int]:
    """Return the number of times that the code bypasses types or the formatter."""
    nodes = (node for tree in trees(package) for node in ast.walk(tree))
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    skips = sum(path.read_text(encoding="utf-8").count(SKIP) for path in python_files(package))
    return {"Any": names["Any"], "cast": names["cast"], SKIP: skips}


def layers_report(package: Path) -> Iterator[str]:
    """Yield the layers in order, and the imports that violate it."""
    layers = order(package)
    layers = layers if GROUND in layers else []
    upwards, rings = imports_upwards(package) if layers else [], circles(package)
    yield f"order of packages, top first: {', '.join(layers) or 'none is written'}"
    yield f"imports against it: {len(upwards) if layers else 'unknown, as none is written'}"
    yield from (f"  {one}" for one in upwards)
    yield f"circles: {len(rings)}"
    yield from (f"  {len(ring)} modules: {', '.join(ring)}" for ring in rings)


def sizes_report(package: Path) -> Iterator[str]:
    """Yield the statistics of folders and modules."""
    inside, lengths = folders(package), sizes(package)
    lengths = {module: lines for module, lines in lengths.items() if lines > 1}
    largest = sorted(lengths, key=lambda module: -lengths[module])[:5]
    yield f"modules: {len(lengths)}, of which {len(at_the_root(package))} lie at the root"
    yield f"lines: {sum(lengths.values())}"
    yield (
        f"lines of a module: median {statistics.median(lengths.values()):g}, largest "
        + ", ".join(f"{module} {lengths[module]}" for module in largest)
    )
    packages: dict[str, list[int]] = defaultdict(list)
    for folder, modules in inside.items():
        packages[folder.partition("/")[0]] += modules.values()
    yield "modules and lines by package:"
    yield from (f"  {name:<12} {len(n):4} {sum(n):7}" for name, n in sorted(packages.items()))
    widest = max(inside, key=lambda folder: len(inside[folder]))
    deepest = max(inside, key=lambda folder: (folder != ".", folder.count("/")))
    yield f"largest folder: {widest}, with {len(inside[widest])} modules of its own"
    yield f"deepest folder: {deepest}"
    crumbs = [one for one in only_importers(package) if lengths.get(one, 0) < CRUMB_LINES]
    yield f"modules under {CRUMB_LINES} lines that one other imports: {len(crumbs)}"
    yield from (f"  {module}" for module in crumbs)


def writing_report(package: Path) -> Iterator[str]:
    """Yield the statistics of names, docstrings and types."""
    shared = repeated_classes(package)
    named = ", ".join(f"{name} {count}" for name, count in shared.items())
    yield f"names of classes that exist twice or more: {len(shared)}" + f" ({named})" * bool(named)
    texts = docstrings(package)
    vague = sum(1 for text in texts if VAGUE.match(text))
    yield (
        f"docstrings: {len(texts)}, of which {vague} ({vague / max(1, len(texts)):.0%}) begin with "
        "what, say or tell, or with a verb and one of these"
    )
    yield ", ".join(f"{name}: {count}" for name, count in loose_ends(package).items())


def report(package: Path) -> str:
    """Return all of it as text."""
    parts = (layers_report(package), sizes_report(package), writing_report(package))
    return "\n".join(line for part in parts for line in part)


if __name__ == "__main__":
    named = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "tpustarter"
    print(report(named.resolve()))
    sys.exit(bool(imports_upwards(named) or circles(named) or not_in_the_map(named)))
