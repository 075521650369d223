"""The invariants of the design, each one a test that is itself shown to be able to fail."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

import tpustarter
from tests import structure
from tests.support.places import TESTS
from tpustarter import content, locations
from tpustarter.cli import COMMANDS, cli
from tpustarter.running import archive

PACKAGE = Path(tpustarter.__file__).parent
CHECKS = locations.content("checks")
LESSONS = locations.content("lessons")

FRAMEWORKS = {"jax", "jaxlib", "torch", "torch_xla", "torch_tpu", "tensorflow", "keras", "numpy",
              "libtpu"}  # fmt: skip

STANDARD_LIBRARY_ONLY = ("probe", "machine", "version.py", "__init__.py")
TRAVELS = ("version.py", "__init__.py")
"""What the probe takes along from the root of the package."""
LIMITS = {"module": 700, "function": 50, "check": 80, "shared": 150}
MEDIAN = 180
"""Lines of a module in the middle of all: one that is longer than most holds two ideas."""


def foreign_imports(package: Path) -> list[str]:
    """Return imports of what does not belong there: a framework, textual, a heavy library."""
    found = []
    for path in structure.python_files(package):
        inside = path.relative_to(package)
        for name in structure.imported_names(ast.parse(path.read_bytes())):
            first = name.split(".")[0]
            if inside.parts[0] in STANDARD_LIBRARY_ONLY and not (
                first in sys.stdlib_module_names or first in ("tpustarter", "jax")
            ):
                found.append(f"{inside} imports {name}, which is not in the standard library")
            if first == "textual" and inside.parts[0] != "tui":
                found.append(f"{inside} imports textual")
            if first in FRAMEWORKS and inside.parts[0] != "probe":
                found.append(f"{inside} imports {name}, a framework")
            if name.startswith("."):
                found.append(f"{inside} imports {name}, which names no package")
    return found


def test_no_module_imports_what_does_not_belong_there() -> None:
    """Frameworks stay in the probe, textual in the app, and the probe needs Python alone."""
    assert [] == foreign_imports(PACKAGE)


def lay_out(package: Path, files: dict[str, str]) -> Path:
    """Write the modules of a package that is called tpustarter; returns it."""
    for name, code in files.items():
        path = package / "tpustarter" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return package / "tpustarter"


def test_the_rule_of_foreign_imports_can_fail(tmp_path: Path) -> None:
    """Each kind of breach is found."""
    package = lay_out(tmp_path, {
        "probe/a.py": "import click",
        "machine/b.py": "import yaml",
        "checking/c.py": "import jax",
        "checking/d.py": "def f():\n    import textual",
        "checking/e.py": "from ..cli import overview",
        "__init__.py": "import platformdirs",
    })  # fmt: skip

    assert 6 == len(foreign_imports(package))


def google_imports(package: Path) -> list[str]:
    """Return imports of Google's libraries outside `cloud/`, or where a module is loaded."""
    found = []
    for path in structure.python_files(package):
        inside = path.relative_to(package)
        tree = ast.parse(path.read_bytes())
        names = [name for name in structure.imported_names(tree) if is_google(name)]
        if inside.parts[0] != "cloud":
            found += [f"{inside} imports {name}" for name in names]
            continue
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        within = [name for one in functions for name in structure.imported_names(one)]
        found += [f"{inside} imports {name} at the top" for name in {*names} - {*within}]
    return found


def is_google(name: str) -> bool:
    """Return whether a name is of one of Google's libraries, or of gRPC below them."""
    return name.partition(".")[0] in ("google", "grpc", "proto", "grpc_status")


def test_google_is_imported_in_cloud_alone_and_only_when_it_is_needed() -> None:
    """Its client takes a third of a second to import, which no other command pays."""
    assert [] == google_imports(PACKAGE)


def test_the_rule_of_google_can_fail(tmp_path: Path) -> None:
    """Each kind of breach is found, and what is allowed is not."""
    package = lay_out(tmp_path, {
        "cli/a.py": "def f():\n    from google.cloud import tpu_v2",
        "checking/b.py": "import google.auth",
        "cloud/c.py": "from google.cloud import tpu_v2",
        "cloud/d.py": "if True:\n    import grpc",
        "cloud/e.py": "def f():\n    from google.cloud import tpu_v2\n    import grpc",
        "cloud/f.py": "import googleplex",
    })  # fmt: skip

    assert [
        "checking/b.py", "cli/a.py", "cloud/c.py", "cloud/d.py",
    ] == sorted({line.split()[0] for line in google_imports(package)})  # fmt: skip


def test_the_commands_of_tpu_load_google_only_when_they_ask_it() -> None:
    """A dry run sends nothing, so it needs nothing of Google's."""
    words = "'tpu', 'create', 'bert', '--type', 'v6e-8', '--zone', 'us-central1-b', '--dry-run'"
    loaded = loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", words))

    assert "tpustarter.cloud.create" in loaded
    assert [] == [name for name in loaded if is_google(name)]


def test_packages_import_downwards_only() -> None:
    """The map in `__init__.py` is the order: nothing imports from above, wherever it does so."""
    assert [] == structure.imports_upwards(PACKAGE)
    assert ["cli", "tui"] == structure.order(PACKAGE)[:2]


MAP = """Names its layers.

Top first:

    cli/      the command line
    tui/      the app
    checking/ the core
    ground    what they stand on:
              problem, state
    probe/    travels
"""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("checking/a.py", "from tpustarter.cli import b"),
        ("checking/a.py", "def f():\n    from tpustarter.cli.b import x"),
        ("checking/a.py", "if TYPE_CHECKING:\n    from tpustarter.cli.b import X"),
        ("checking/a.py", "import tpustarter.cli.b"),
        ("problem.py", "from tpustarter.checking import c"),
        ("probe/a.py", "from tpustarter import problem"),
        ("cli/a.py", "from tpustarter.tui import b"),
        ("tui/a.py", "from tpustarter.cli import b"),
        ("checking/a.py", "from tpustarter import rehearse"),
        ("checking/a.py", "from tpustarter.extra import a"),
    ],
)
def test_the_rule_of_layers_can_fail(tmp_path: Path, name: str, code: str) -> None:
    """An import from above is found at the top, in a function and for a type, and named."""
    files = {"__init__.py": f'"""{MAP}"""', "cli/b.py": "", "tui/b.py": "", "checking/c.py": "",
             "problem.py": "", "state.py": "", "extra/a.py": "", "probe/b.py": ""}  # fmt: skip
    package = lay_out(tmp_path, files)

    assert [] == structure.imports_upwards(package)

    (package / name).write_text(code)
    found = structure.imports_upwards(package)

    assert 1 == len(found)
    assert found[0].startswith(name.removesuffix(".py").replace("/", "."))


def test_the_map_names_every_package() -> None:
    """One that it lacks has no height, and one that is gone misleads."""
    assert [] == structure.not_in_the_map(PACKAGE)


def test_the_rule_of_the_map_can_fail(tmp_path: Path) -> None:
    """A package beside those of the map is seen, and one of the map that is not there."""
    package = lay_out(tmp_path, {"__init__.py": f'"""{MAP}"""', "cli/__init__.py": "",
                                 "tui/__init__.py": "", "extra/__init__.py": ""})  # fmt: skip

    assert ["checking", "extra", "probe"] == structure.not_in_the_map(package)


def test_no_two_modules_import_each_other() -> None:
    """There is no circle, through however many modules."""
    assert [] == structure.circles(PACKAGE)


def test_the_rule_of_circles_can_fail(tmp_path: Path) -> None:
    """A circle of two and one of three are found, imports in functions and for types counted."""
    package = lay_out(tmp_path, {
        "__init__.py": f'"""{MAP}"""',
        "checking/a.py": "from tpustarter.checking import b",
        "checking/b.py": "def f():\n    from tpustarter.checking.a import x",
        "checking/c.py": "from tpustarter.checking.a import x",
        "cli/one.py": "from tpustarter.cli import two",
        "cli/two.py": "if TYPE_CHECKING:\n    from tpustarter.cli.three import X",
        "cli/three.py": "import tpustarter.cli.one",
    })  # fmt: skip

    assert [
        ["checking.a", "checking.b"],
        ["cli.one", "cli.three", "cli.two"],
    ] == structure.circles(package)


def test_the_root_holds_what_all_stand_on_and_nothing_else() -> None:
    """A module beside those that the map names has a package to go to."""
    assert structure.ground(PACKAGE) == structure.at_the_root(PACKAGE)


def test_the_rule_of_the_root_can_fail(tmp_path: Path) -> None:
    """A stray module at the root is seen, and the map's line is read."""
    files = {"__init__.py": f'"""{MAP}"""', "problem.py": "", "state.py": "", "plan.py": ""}
    package = lay_out(tmp_path, files)

    assert ["problem", "state"] == structure.ground(package)
    assert ["plan", "problem", "state"] == structure.at_the_root(package)


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
    assert "tpustarter.checking.runner" in loaded


def test_the_import_rule_can_fail() -> None:
    """The way modules are counted sees one that was loaded."""
    assert "yaml" in loaded_by("import yaml")


def test_listing_checks_loads_nothing_heavy() -> None:
    """`check --list` reads files; no YAML, no subprocess of ours, no framework."""
    loaded = loaded_by(CHECK_RUN.replace("'host.space', '--json'", "'--list'"))

    assert loaded & {"yaml", "textual", "numpy", "jax", "zipfile"} <= {"zipfile"}


def test_a_command_loads_no_other() -> None:
    """Each is loaded when it is asked for, and every one of them is there."""
    loaded = loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", "'learn', '--path'"))
    commands = {name for name in COMMANDS if f"tpustarter.cli.{name}" in loaded}

    assert {"learn"} == commands
    assert "tpustarter.checking.runner" not in loaded
    for name in COMMANDS:
        assert name == getattr(cli.get_command(click.Context(cli), name), "name", None)


def test_the_probe_is_one_file_with_nothing_else_in_it(tmp_path: Path) -> None:
    """The zip holds the probe, facts about machines and the checks, and nothing of the rest."""
    with zipfile.ZipFile(archive.build(tmp_path / "probe.pyz")) as probe:
        names = {name for name in probe.namelist() if name.endswith(".py")}
    wanted = {"__main__.py", *(f"tpustarter/{name}" for name in TRAVELS)}
    for folder in ("probe", "machine"):
        wanted |= {f"tpustarter/{folder}/{path.name}" for path in (PACKAGE / folder).glob("*.py")}
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
    """Modules, functions, checks and shared code keep their limits."""
    found = [
        one for path in structure.python_files(PACKAGE) for one in too_long(path, LIMITS["module"])
    ]
    for path in CHECKS.glob("*/*.py"):
        found += too_long(path, LIMITS["shared" if path.name.startswith("_") else "check"])

    assert found == []


def test_half_of_the_modules_are_short() -> None:
    """The median stays low: what grows is split by idea long before it is at its limit."""
    lengths = [lines for lines in structure.sizes(PACKAGE).values() if lines > 1]

    assert statistics.median(lengths) < MEDIAN


def test_the_size_rule_can_fail(tmp_path: Path) -> None:
    """A long file and a long function are found."""
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    pass\n" * 80)

    assert len(too_long(path, 60)) == 2


def test_every_module_says_what_it_is_for() -> None:
    """The first line of a module is a sentence or a title, never missing."""
    for path in [
        *structure.python_files(PACKAGE),
        *CHECKS.glob("*/*.py"),
        *[path for path in TESTS.rglob("*.py") if "samples" not in path.parts],
    ]:
        docstring = ast.get_docstring(ast.parse(path.read_bytes()))

        assert docstring, path


def test_every_claim_fits_one_line_of_a_report() -> None:
    """An id and its seconds fit a line of 80 columns, and a title is one sentence."""
    checks = content.read_checks()
    long = [f"{one.id}: {one.title}" for one in checks
            if len(one.title) > content.MOST_TITLE or len(one.id) > content.MOST_ID]  # fmt: skip

    assert long == []


@pytest.mark.parametrize(
    "word",
    [r"shell=True", r"os\.system\(", r"\beval\(", r"\bexec\(", r"pickle\.load", r"yaml\.load\(",
     r"coding agen[t]", r"/wor[k]/(main|shared)", r"/roo[t]/",
     r"pyp[i]\.org|pythonhoste[d]|npmj[s]"],
)  # fmt: skip
def test_no_file_has_what_must_not_be_there(word: str) -> None:
    """No shell, no code from text, no path of the machine it was written on, no host of an index.

    One file runs code from text, for that is what a lesson's block is.
    """
    files = [*structure.python_files(PACKAGE), *CHECKS.glob("*/*.py"), *LESSONS.rglob("*.md"),
             *PACKAGE.rglob("*.yml"), *LESSONS.glob("*.yml")]  # fmt: skip
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
