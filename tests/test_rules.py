"""The invariants of the design, each one a test that is itself shown to be able to fail."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import tpustarter
from tpustarter import archive, content, locations
from tpustarter.report.text import ID_WIDTH, TITLE_WIDTH

PACKAGE = Path(tpustarter.__file__).parent
CHECKS = locations.content("checks")
LESSONS = locations.content("lessons")

FRAMEWORKS = {"jax", "jaxlib", "torch", "torch_xla", "torch_tpu", "tensorflow", "numpy", "libtpu"}

# layer: what it may not import from tpustarter
FORBIDDEN = {
    "cli": {"tui"},
    "tui": {"cli"},
    "probe": {"cli", "tui", "report", "runner", "process", "content", "plan", "selfcheck"},
    "report": {"cli", "tui"},
}
STANDARD_LIBRARY_ONLY = ("probe", "host.py", "tpus.py", "__init__.py")
LIMITS = {"module": 400, "function": 50, "check": 80, "shared": 150, "lesson": 150}


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder, without those of content shipped inside it."""
    files = folder.rglob("*.py")
    return [
        path for path in files if not {"checks", "lessons"} & set(path.relative_to(folder).parts)
    ]


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield every module a tree imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer_breaches(package: Path) -> list[str]:
    """Return imports that cross a layer, or that the standard library does not have."""
    found = []
    for path in python_files(package):
        inside = path.relative_to(package)
        for name in imports(ast.parse(path.read_bytes())):
            parts = name.split(".")
            if parts[0] == "tpustarter" and set(parts[1:2]) & FORBIDDEN.get(inside.parts[0], set()):
                found.append(f"{inside} imports {name}")
            if inside.parts[0] in STANDARD_LIBRARY_ONLY and not (
                parts[0] in sys.stdlib_module_names or parts[0] in ("tpustarter", "jax")
            ):
                found.append(f"{inside} imports {name}, which is not in the standard library")
            if parts[0] == "textual" and inside.parts[0] != "tui":
                found.append(f"{inside} imports textual")
            if parts[0] in FRAMEWORKS and inside.parts[0] != "probe":
                found.append(f"{inside} imports {name}, a framework")
    return found


def test_layers_hold() -> None:
    """No module imports across a layer, and the probe needs the standard library alone."""
    assert layer_breaches(PACKAGE) == []


def test_the_layer_rule_can_fail(tmp_path: Path) -> None:
    """Each kind of breach is found."""
    for name, code in {
        "probe/a.py": "import click",
        "probe/b.py": "from tpustarter.report import text",
        "cli/c.py": "def f():\n    from tpustarter import tui",
        "runner.py": "import jax",
        "host.py": "import yaml",
        "plan.py": "import textual",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)

    assert len({breach.split(" ")[0] for breach in layer_breaches(tmp_path)}) == 6


def loaded_by(command: str) -> set[str]:
    """Return the modules a fresh process has loaded after running `command`."""
    program = f"{command}\nimport sys; print('MODULES', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("MODULES")[2].split())


CHECK_RUN = (
    "import sys; sys.argv = ['tpustarter', 'check', 'host.space', '--json']\n"
    "from tpustarter.__main__ import main\n"
    "try: main()\nexcept SystemExit: pass"
)


def test_the_app_process_never_loads_a_framework_or_a_check() -> None:
    """Running a check leaves no framework and no check in the process that asked for it."""
    loaded = loaded_by(CHECK_RUN)

    assert loaded & (FRAMEWORKS | {"textual"}) == set()
    assert not [name for name in loaded if name.startswith("tpustarter.checks")]
    assert "tpustarter.runner" in loaded


def test_the_import_rule_can_fail() -> None:
    """The way modules are counted sees one that was loaded."""
    assert "yaml" in loaded_by("import yaml")


def test_listing_checks_loads_nothing_heavy() -> None:
    """`check --list` reads files; no YAML, no subprocess of ours, no framework."""
    loaded = loaded_by(CHECK_RUN.replace("'host.space', '--json'", "'--list'"))

    assert loaded & {"yaml", "textual", "numpy", "jax", "zipfile"} <= {"zipfile"}


def test_the_probe_is_one_file_with_nothing_else_in_it(tmp_path: Path) -> None:
    """The zip holds the probe, host, tpus and the checks, and nothing of the rest."""
    with zipfile.ZipFile(archive.build(tmp_path / "probe.pyz")) as probe:
        names = {name for name in probe.namelist() if name.endswith(".py")}
    wanted = {"__main__.py", "tpustarter/__init__.py", "tpustarter/host.py", "tpustarter/tpus.py"}
    wanted |= {f"tpustarter/probe/{path.name}" for path in (PACKAGE / "probe").glob("*.py")}
    wanted |= {f"tpustarter/checks/{p.parent.name}/{p.name}" for p in CHECKS.glob("*/*.py")}

    assert wanted == names


def too_long(path: Path, limit: int) -> list[str]:
    """Return what is over its limit in one Python file: the file, or a function."""
    text = path.read_text(encoding="utf-8")
    found = (
        [f"{path.name}: {len(text.splitlines())} lines"] if len(text.splitlines()) > limit else []
    )
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            lines = node.end_lineno - node.lineno + 1
            if lines > LIMITS["function"]:
                found.append(f"{path.name}: {node.name} has {lines} lines")
    return found


def test_files_and_functions_are_small() -> None:
    """Modules, functions, checks, shared code and lessons keep their limits."""
    found = [one for path in python_files(PACKAGE) for one in too_long(path, LIMITS["module"])]
    for path in CHECKS.glob("*/*.py"):
        found += too_long(path, LIMITS["shared" if path.name.startswith("_") else "check"])
    for path in LESSONS.glob("*/*.md"):
        if len(path.read_text(encoding="utf-8").splitlines()) > LIMITS["lesson"]:
            found.append(path.name)

    assert found == []


def test_the_size_rule_can_fail(tmp_path: Path) -> None:
    """A long file and a long function are found."""
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    pass\n" * 80)

    assert len(too_long(path, 60)) == 2


def test_every_module_says_what_it_is_for() -> None:
    """The first line of a module is a sentence or a title, never missing."""
    for path in [
        *python_files(PACKAGE),
        *CHECKS.glob("*/*.py"),
        *Path(__file__).parent.glob("*.py"),
    ]:
        docstring = ast.get_docstring(ast.parse(path.read_bytes()))

        assert docstring, path


def test_every_claim_fits_one_line_of_a_report() -> None:
    """What holds is told in one line of 80 columns."""
    checks = content.read_checks()
    long = [f"{one.id}: {one.title}" for one in checks
            if len(one.title) > TITLE_WIDTH or len(one.id) >= ID_WIDTH]  # fmt: skip

    assert long == []


@pytest.mark.parametrize(
    "word",
    [r"shell=True", r"os\.system\(", r"\beval\(", r"\bexec\(", r"pickle\.load", r"yaml\.load\(",
     r"coding agen[t]", r"/wor[k]/(main|shared)", r"/roo[t]/"],
)  # fmt: skip
def test_no_file_has_what_must_not_be_there(word: str) -> None:
    """No shell, no code from text, no path of the machine it was written on.

    One file runs code from text, for that is what a lesson's block is.
    """
    files = [*python_files(PACKAGE), *CHECKS.glob("*/*.py"), *LESSONS.rglob("*.md")]
    if "exec" in word:
        files.remove(PACKAGE / "probe" / "blocks.py")
    found = [path.name for path in files if re.search(word, path.read_text(encoding="utf-8"))]

    assert found == []


def test_no_stray_package_would_land_in_site_packages() -> None:
    """The wheel holds `tpustarter` alone; checks and lessons go inside it."""
    repository = PACKAGE.parent
    if not (repository / "pyproject.toml").exists():
        assert (PACKAGE / "checks").is_dir()
        assert (PACKAGE / "lessons").is_dir()
        return
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")

    assert 'packages = ["tpustarter"]' in text
    assert '"checks" = "tpustarter/checks"' in text
    assert not (repository / "checks" / "__init__.py").exists()
