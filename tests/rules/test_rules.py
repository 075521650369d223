"""The invariants of the design, each one a test that is itself shown to be able to fail."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

import tpustarter
from tests import structure
from tests.support import shipped
from tests.support.places import TESTS
from tpustarter.cli import COMMANDS, cli
from tpustarter.core import content, locations
from tpustarter.machine import frameworks
from tpustarter.running import probe_archive

PACKAGE = Path(tpustarter.__file__).parent
CHECKS = locations.content_folder("checks")
LESSONS = locations.content_folder("lessons")

FRAMEWORKS = {*frameworks.FRAMEWORKS, "jaxlib", "torch", "numpy", "libtpu"}

AGENT_LIBRARIES = {"mcp", "mcp_types", "anyio", "jsonschema"}
"""Libraries of the extra `mcp`, which no other command may load."""

STANDARD_LIBRARY_ONLY = ("probe", "machine", "version.py", "__init__.py")
TRAVELS = ("version.py", "__init__.py")
"""What the probe takes along from the root of the package."""
LIMITS = {"module": 700, "function": 50, "check": 80, "shared": 150}


def foreign_imports(package: Path) -> list[str]:
    """Return imports of what does not belong there: a framework, textual, a heavy library."""
    found = []
    for path in structure.python_files(package):
        inside = path.relative_to(package)
        for name in structure.imported_names(structure.parse(path)):
            first = name.split(".")[0]
            if inside.parts[0] in STANDARD_LIBRARY_ONLY and not (
                first in sys.stdlib_module_names or first in ("tpustarter", "jax")
            ):
                found.append(f"{inside} imports {name}, which is not in the standard library")
            if first == "textual" and inside.parts[0] != "tui":
                found.append(f"{inside} imports textual")
            if first in AGENT_LIBRARIES and inside.parts[0] != "agents":
                found.append(f"{inside} imports {name}, which only tools of agents need")
            if first in FRAMEWORKS and inside.parts[0] != "probe":
                found.append(f"{inside} imports {name}, a framework")
            if name.startswith("."):
                found.append(f"{inside} imports {name}, which names no package")
    return found


def test_no_module_imports_foreign_packages() -> None:
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
    """The rule of foreign imports finds each kind of violation."""
    package = lay_out(
        tmp_path,
        {
            "probe/a.py": "import click",
            "machine/b.py": "import yaml",
            "checking/c.py": "import jax",
            "checking/d.py": "def f():\n    import textual",
            "checking/e.py": "from ..cli import overview",
            "cli/f.py": "def f():\n    from mcp.server.lowlevel import Server",
            "__init__.py": "import platformdirs",
        },
    )

    assert 7 == len(foreign_imports(package))


def google_imports(package: Path) -> list[str]:
    """Return imports of Google's libraries outside two packages, or where a module is loaded."""
    found = []
    for path in structure.python_files(package):
        inside = path.relative_to(package)
        tree = structure.parse(path)
        names = [name for name in structure.imported_names(tree) if is_google(name)]
        if inside.parts[0] not in ("cloud", "watch"):
            found += [f"{inside} imports {name}" for name in names]
            continue
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        within = [name for one in functions for name in structure.imported_names(one)]
        found += [f"{inside} imports {name} at the top" for name in {*names} - {*within}]
    return found


def is_google(name: str) -> bool:
    """Return whether a name belongs to one of Google's libraries, or to gRPC below them."""
    return name.partition(".")[0] in ("google", "grpc", "proto", "grpc_status")


def test_google_is_imported_lazily_in_two_packages() -> None:
    """Google's client and gRPC, which import slowly, are imported lazily in two packages."""
    assert [] == google_imports(PACKAGE)


def test_the_rule_of_google_can_fail(tmp_path: Path) -> None:
    """The rule of Google's libraries finds each kind of violation, and nothing that is allowed."""
    package = lay_out(
        tmp_path,
        {
            "cli/a.py": "def f():\n    from google.cloud import tpu_v2",
            "checking/b.py": "import google.auth",
            "cloud/c.py": "from google.cloud import tpu_v2",
            "cloud/d.py": "if True:\n    import grpc",
            "cloud/e.py": "def f():\n    from google.cloud import tpu_v2\n    import grpc",
            "cloud/f.py": "import googleplex",
            "watch/g.py": "import grpc",
            "watch/h.py": "def f():\n    import grpc",
        },
    )

    assert [
        "checking/b.py",
        "cli/a.py",
        "cloud/c.py",
        "cloud/d.py",
        "watch/g.py",
    ] == sorted({line.split()[0] for line in google_imports(package)})


def test_tpu_commands_load_google_only_for_requests() -> None:
    """A dry run sends nothing, so it needs nothing of Google's."""
    words = "'tpu', 'create', 'bert', '--type', 'v6e-8', '--zone', 'us-central1-b', '--dry-run'"
    loaded = loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", words))

    assert "tpustarter.cloud.create.tpu_creation" in loaded
    assert [] == [name for name in loaded if is_google(name)]


WITHOUT_CLOUD = {
    "agents": "--print",
    "check": "host.space",
    "completion": "bash",
    "explain": "train.log",
    "learn": "--search mesh",
    "mcp": "--help",
    "plan": "config.json",
    "rehearse": "jax.every_device",
    "report": "--no-ask --yes",
    "run": "-- true",
    "serve": "jupyter",
    "setup": "jax",
    "watch": "--once --port 1",
}
"""What each command is given that has nothing to do with Google Cloud."""


@pytest.mark.parametrize("words", ["", *map(" ".join, WITHOUT_CLOUD.items())])
def test_other_commands_load_no_cloud_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """Other commands load neither Google's client nor a module of `cloud/`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text("RESOURCE_EXHAUSTED: Out of memory\n")

    loaded = loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", f"*{words.split()}"))

    assert "tpustarter.cli" in loaded
    assert [] == [name for name in loaded if is_google(name) or name.startswith(CLOUD)]
    assert set() == {name.partition(".")[0] for name in loaded} & AGENT_LIBRARIES


CLOUD = "tpustarter.cloud"


def test_every_command_is_tried_without_the_cloud() -> None:
    """Every command but `tpu` and `trc` is tested without the cloud."""
    assert {*COMMANDS} - {"tpu", "trc"} == WITHOUT_CLOUD.keys()


def test_loading_the_cloud_is_seen() -> None:
    """The way modules are counted sees `trc` load it."""
    assert CLOUD in loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", "'trc'"))


def framework_lists(package: Path) -> list[str]:
    """Return the modules with a list, a table or a pattern that names two frameworks or more."""
    found = set[str]()
    for path in structure.python_files(package):
        for node in ast.walk(structure.parse(path)):
            if isinstance(node, ast.Dict):
                items = node.keys
            elif isinstance(node, ast.List | ast.Tuple | ast.Set):
                items = node.elts
            else:
                continue
            names = [one.value for one in items if isinstance(one, ast.Constant)]
            if len({*frameworks.FRAMEWORKS} & {*names}) > 1:
                found.add(path.relative_to(package).as_posix())
    return sorted(found)


NAMES_FRAMEWORKS = {
    "core/content.py": "tracks of lessons, some of which are called like a framework",
    "tui/library/lesson_rows.py": "the titles of those tracks",
    "machine/frameworks.py": "the list",
    "probe/adapters.py": "code that asks each of them",
    "report/collect/frameworks.py": "the questions for each of them",
    "report/forms/issue_trackers.py": "where their bugs are filed",
    "report/forms/form_headings.py": "the form of each of those trackers",
    "setup/environment/setup_profiles.py": "the packages of one environment, Keras on JAX",
}
"""Modules that may name frameworks side by side, and what they name. CONTRIBUTING lists them."""


def test_frameworks_are_listed_in_one_module() -> None:
    """Frameworks are listed in one module; other modules read a field of its rows."""
    assert sorted(NAMES_FRAMEWORKS) == framework_lists(PACKAGE)


def test_rule_of_frameworks_can_fail(tmp_path: Path) -> None:
    """A list, a set and the keys of a table are found, and the name of one framework is not."""
    package = lay_out(
        tmp_path,
        {
            "cli/a.py": "A = ('jax', 'keras')",
            "cli/b.py": "def f():\n    return {'jax', 'torch_xla'}",
            "cli/c.py": "C = {'tensorflow': 1, 'keras': 2}",
            "cli/d.py": "D = ('jax', 'jaxlib', 'libtpu')\nE = {'jax': 1}",
        },
    )

    assert ["cli/a.py", "cli/b.py", "cli/c.py"] == framework_lists(package)


def handmade_phrases(package: Path) -> list[str]:
    """Return lists, plurals and near matches that are not made by `text/phrases.py`."""
    found = []
    for path in structure.python_files(package):
        inside = path.relative_to(package)
        if inside.parts[0] in (*STANDARD_LIBRARY_ONLY, "text"):  # it may not import that
            continue
        for node in ast.walk(structure.parse(path)):
            text = ast.unparse(node) if isinstance(node, ast.Call | ast.IfExp | ast.BinOp) else ""
            for kind, pattern in HANDMADE.items():
                if re.fullmatch(pattern, text):
                    found.append(f"{inside} line {getattr(node, 'lineno', 0)}: {kind}")
    return found


HANDMADE = {
    "list": r"""(?s)['"] (and|or) ['"]\.join\(.*""",
    "plural": r"""(?s)f?(['"]).+\1 if .* [!=]= 1 else f?(['"]).+\2|(['"])s\3 (if|\*) .*""",
    "near match": r"(?s)(difflib\.)?get_close_matches\(.*",
}
"""How the source of an expression looks that `text/phrases.py` has a function for."""


def test_phrases_are_made_in_one_module() -> None:
    """A list in a sentence, a count with its noun and a typo have one form everywhere."""
    assert [] == [line for line in handmade_phrases(PACKAGE) if line.split()[0] not in NO_PHRASES]


NO_PHRASES = {
    "cli/run.py": "it names one of two streams",
    "cloud/api/workers.py": "it makes a label, of one or of several slices",
    "setup/programs/prove_jupyter.py": "it runs in a Python that does not have this program",
}
"""Modules with an expression that looks like a plural and is none, and what it is."""


def test_rule_of_phrases_can_fail(tmp_path: Path) -> None:
    """The rule of phrases finds each kind of violation, and nothing that only looks like one."""
    package = lay_out(
        tmp_path,
        {
            "cli/a.py": "' and '.join(names)",
            "cli/b.py": "f'{n} step' if n == 1 else f'{n} steps'",
            "cli/c.py": "f\"{n} step{'s' if n > 1 else ''}\"",
            "cli/d.py": "f\"{n} step{'s' * (n != 1)}\"",
            "cli/e.py": "from difflib import get_close_matches\nget_close_matches(a, b)",
            "cli/f.py": "', '.join(names); x if len(x) == 1 else y",
            "machine/g.py": "' or '.join(names)",
        },
    )

    found = [line.split()[0] for line in handmade_phrases(package)]

    assert ["cli/a.py", "cli/b.py", "cli/c.py", "cli/d.py", "cli/e.py"] == found


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
    files = {
        "__init__.py": f'"""{MAP}"""',
        "cli/b.py": "",
        "tui/b.py": "",
        "checking/c.py": "",
        "problem.py": "",
        "state.py": "",
        "extra/a.py": "",
        "probe/b.py": "",
    }
    package = lay_out(tmp_path, files)

    assert [] == structure.imports_upwards(package)

    (package / name).write_text(code)
    found = structure.imports_upwards(package)

    assert 1 == len(found)
    assert found[0].startswith(name.removesuffix(".py").replace("/", "."))


def test_the_map_names_every_package() -> None:
    """The map names every package that exists, and no other."""
    assert [] == structure.not_in_the_map(PACKAGE)


def test_the_rule_of_the_map_can_fail(tmp_path: Path) -> None:
    """A package beside those of the map is seen, and one of the map that is not there."""
    package = lay_out(
        tmp_path,
        {
            "__init__.py": f'"""{MAP}"""',
            "cli/__init__.py": "",
            "tui/__init__.py": "",
            "extra/__init__.py": "",
        },
    )

    assert ["checking", "extra", "probe"] == structure.not_in_the_map(package)


def test_no_two_modules_import_each_other() -> None:
    """No modules import each other, even through several others."""
    assert [] == structure.circles(PACKAGE)


def test_the_rule_of_circles_can_fail(tmp_path: Path) -> None:
    """A circle of two and one of three are found, imports in functions and for types counted."""
    package = lay_out(
        tmp_path,
        {
            "__init__.py": f'"""{MAP}"""',
            "checking/a.py": "from tpustarter.checking import b",
            "checking/b.py": "def f():\n    from tpustarter.checking.a import x",
            "checking/c.py": "from tpustarter.checking.a import x",
            "cli/one.py": "from tpustarter.cli import two",
            "cli/two.py": "if TYPE_CHECKING:\n    from tpustarter.cli.three import X",
            "cli/three.py": "import tpustarter.cli.one",
        },
    )

    assert [
        ["checking.a", "checking.b"],
        ["cli.one", "cli.three", "cli.two"],
    ] == structure.circles(package)


def test_root_holds_only_modules_of_map() -> None:
    """A module beside those that the map names has a package to go to."""
    assert structure.ground(PACKAGE) == structure.at_the_root(PACKAGE)


def test_the_rule_of_the_root_can_fail(tmp_path: Path) -> None:
    """A stray module at the root is seen, and the map's line is read."""
    files = {"__init__.py": f'"""{MAP}"""', "problem.py": "", "state.py": "", "plan.py": ""}
    package = lay_out(tmp_path, files)

    assert ["problem", "state"] == structure.ground(package)
    assert ["plan", "problem", "state"] == structure.at_the_root(package)


MEASURED = {
    "__init__.py": "",
    "a.py": '''"""Say what it is."""\nclass Row: ...\nclass _Own: ...\n''',
    "deep/b.py": '''"""Rows."""\nfrom tpustarter import a\nclass Row: ...\nclass _Own: ...\n''',
    "deep/er/c.py": "from typing import Any, cast\nx: Any = cast(Any, 1)  # fmt: skip\n",
    "deep/er/d.py": '''def f():\n    """Return what was read."""\n''',
    "deep/er/long.py": "x = 1\n" * structure.CRUMB_LINES,
    "e.py": "from tpustarter.deep.er import d, long\nimport tpustarter.deep.b\n",
    "f.py": "from tpustarter.deep.er.d import f\n",
}


def test_the_figures_of_the_code_are_right(tmp_path: Path) -> None:
    """The statistics of the code count what they should, and skip its near miss."""
    package = lay_out(tmp_path, MEASURED)
    begins = [bool(structure.VAGUE.match(text)) for text in structure.docstrings(package)]

    assert {".": 2, "deep": 1, "deep/er": 3} == {
        folder: len(modules) for folder, modules in structure.folders(package).items()
    }
    assert {"a": "deep.b", "deep.b": "e", "deep.er.long": "e"} == structure.only_importers(package)
    assert {"Row": 2} == structure.repeated_classes(package)
    assert [True, False, True] == begins
    assert [2, 1, 1] == [*structure.loose_ends(package).values()]
    assert {"deepest folder: deep/er", "modules under 60 lines that one other imports: 2"} <= {
        *structure.report(package).splitlines()
    }


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


def test_app_process_loads_no_framework_or_check() -> None:
    """Running a check leaves no framework and no check in the process that asked for it."""
    loaded = loaded_by(CHECK_RUN)

    assert loaded & (FRAMEWORKS | {"textual"}) == set()
    assert not [name for name in loaded if name.startswith("tpustarter.checks")]
    assert "tpustarter.checking.run.runner" in loaded


def test_the_import_rule_can_fail() -> None:
    """The way modules are counted sees one that was loaded."""
    assert "yaml" in loaded_by("import yaml")


def test_listing_checks_loads_no_heavy_module() -> None:
    """`check --list` reads files; no YAML, no subprocess of ours, no framework."""
    loaded = loaded_by(CHECK_RUN.replace("'host.space', '--json'", "'--list'"))

    assert loaded & {"yaml", "textual", "numpy", "jax", "zipfile"} <= {"zipfile"}


@pytest.mark.parametrize("words", ["'--version'", "'completion', '--', 'check', 'host.sp'"])
def test_quick_answers_load_no_click(words: str) -> None:
    """A script asks for the version often, and a shell for words at each press of the tab key."""
    loaded = loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", words))

    assert {"tpustarter.core.origin", "tpustarter.core.completion"} & loaded
    assert loaded & {"click", "msgspec", "yaml", "tpustarter.cli", "importlib.metadata"} == set()


def test_a_command_loads_no_other() -> None:
    """A command loads no other command, and every command can be loaded."""
    loaded = loaded_by(CHECK_RUN.replace("'check', 'host.space', '--json'", "'learn', '--path'"))
    commands = {name for name in COMMANDS if f"tpustarter.cli.{COMMANDS[name]}" in loaded}

    assert {"learn"} == commands
    assert "tpustarter.checking.run.runner" not in loaded
    for name in COMMANDS:
        assert name == getattr(cli.get_command(click.Context(cli), name), "name", None)


def test_probe_archive_holds_only_its_parts(tmp_path: Path) -> None:
    """The zip holds the probe, facts about machines and the checks, and nothing of the rest."""
    with zipfile.ZipFile(probe_archive.build_probe_archive(tmp_path / "probe.pyz")) as probe:
        names = {name for name in probe.namelist() if name.endswith(".py")}
    wanted = {"__main__.py", *(f"tpustarter/{name}" for name in TRAVELS)}
    for folder in ("probe", "machine"):
        files = (PACKAGE / folder).rglob("*.py")
        wanted |= {f"tpustarter/{path.relative_to(PACKAGE)}" for path in files}
    wanted |= {f"tpustarter/checks/{p.parent.name}/{p.name}" for p in CHECKS.glob("*/*.py")}

    assert wanted == names


def too_long(path: Path, limit: int) -> list[str]:
    """Return the parts of a Python file that exceed a limit: the file, or a function."""
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


def test_the_size_rule_can_fail(tmp_path: Path) -> None:
    """A long file and a long function are found."""
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    pass\n" * 80)

    assert len(too_long(path, 60)) == 2


ADVICE = {
    "hint",
    "hints",
    "choose_hint",
    "headline",
    "format_headline",
    "next_step",
    "advice",
    "opening",
    "summary",
    "format_summary",
    "full_text",
    "what",
    "meaning",
    "label",
    "format_label",
    "detail",
}
"""Names of what holds a sentence of this program's; what it leads to stands beside it as data."""
READING = {
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "startswith",
    "endswith",
    "index",
    "find",
    "search",
    "match",
    "fullmatch",
    "findall",
    "finditer",
    "sub",
}
"""Methods of texts and of `re` that take a text apart, or look for words in it."""
MAY_READ = {
    "learning/content/exercises.py _read_exercise": "hints are paragraphs of an author's file",
    "learning/lint/lesson_mistakes.py _lint_blocks": "it judges what an author wrote",
    "rehearsal/compile/memory_report.py _buffers": "labels are those of XLA's own report",
    "rehearsal/compile/memory_report.py _name": "labels are those of XLA's own report",
    "report/forms/fact_listing.py format_sections": "a published report names a field with a dot",
    "report/open/accepted_facts.py read_omitted_fields": "it reads a report of another machine",
    "reproducing/reproducer_run.py is_same_failure": "a saved failure names no exception otherwise",
    "setup/programs/prove_profiler.py fetch_json": "it is the path of an address",
    "tui/library/search_details.py describe_word": "the glossary has paragraphs",
}
"""Functions that take one apart all the same, and why."""


def last_names(expression: ast.AST) -> set[str]:
    """Return the names of what an expression gives: of `str(problem.hint)` that is `hint`."""
    match expression:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return {name}
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return {name}
        case ast.Call(func=function, args=arguments):
            owner = [function.value] if isinstance(function, ast.Attribute) else []
            parts = (function, *owner, *arguments)
        case ast.BoolOp(values=parts):
            pass
        case _:
            return set()
    return {name for part in parts for name in last_names(part)}


def reads_advice(node: ast.AST) -> bool:
    """Return whether an expression splits a sentence or searches it for words."""
    match node:
        case ast.Compare(left=ast.Constant() | ast.JoinedStr(), ops=[ast.In() | ast.NotIn()]):
            parts = node.comparators
        case ast.Call(func=ast.Attribute(attr="split"), args=[]):
            return False  # into words, to wrap them
        case ast.Call(func=ast.Attribute(attr=method, value=owner)) if method in READING:
            parts = [owner, *node.args]
        case _:
            return False
    return any(last_names(part) & ADVICE for part in parts)


def readers_of_advice(package: Path) -> list[str]:
    """Return the functions that decide by a sentence of this program's."""
    found = []
    for path in structure.python_files(package):
        functions = [
            node
            for node in ast.walk(structure.parse(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        found += [
            f"{path.relative_to(package)} {function.name}"
            for function in functions
            if any(map(reads_advice, ast.walk(function)))
        ]
    return found


def test_no_code_reads_a_hint_or_a_headline() -> None:
    """No code reads a hint or a headline to decide something, except where it is still allowed."""
    assert sorted(MAY_READ) == sorted(readers_of_advice(PACKAGE))


@pytest.mark.parametrize(
    ("code", "is_reading"),
    [
        ("re.search('setup (.+)', text.next_step(result))", True),
        ("_COMMAND.match(match.hint)", True),
        ("hint.partition('`')", True),
        ("'setup jax' in str(error.hint)", True),
        ("f'setup {name}' in (finding['hint'] or '')", True),
        ("headline(run).startswith('No')", True),
        ("'64-bit' in problem.full_text", True),
        ("profile.meaning.partition(',')[0]", True),
        ("part.label.startswith('line ')", True),
        ("_DEVICE.search(problem.summary)", True),
        ("result['detail'].split(': ')[0]", True),
        ("' '.join(result.detail.split())", False),
        ("part.label in LABELS", False),
        ("hint.setup == 'jax'", False),
        ("error.hint in seen", False),
        ("'hint' in fields", False),
        ("line.partition(':')", False),
    ],
)
def test_the_rule_of_advice_can_fail(tmp_path: Path, code: str, *, is_reading: bool) -> None:
    """The rule of advice finds each way to read a sentence, and nothing that is allowed."""
    package = lay_out(tmp_path, {"tui/a.py": f"def f():\n    return {code}\n"})

    assert ["tui/a.py f"] * is_reading == readers_of_advice(package)


def test_every_module_has_describing_first_line() -> None:
    """The first line of a module is a sentence or a title, never missing."""
    for path in [
        *structure.python_files(PACKAGE),
        *CHECKS.glob("*/*.py"),
        *[path for path in TESTS.rglob("*.py") if "samples" not in path.parts],
    ]:
        docstring = ast.get_docstring(structure.parse(path))

        assert docstring, path


def test_every_claim_fits_one_line_of_a_report() -> None:
    """An id and its seconds fit a line of 80 columns, and a title is one sentence."""
    checks = content.read_checks()
    long = [
        f"{one.id}: {one.title}"
        for one in checks
        if len(one.title) > shipped.MOST_TITLE or len(one.id) > shipped.MOST_ID
    ]

    assert long == []


@pytest.mark.parametrize(
    "word",
    [
        r"shell=True",
        r"os\.system\(",
        r"(?<!\.)\beval\(",
        r"\bexec\(",
        r"pickle\.load",
        r"yaml\.load\(",
        r"/root/",
        r"pypi\.org|pythonhosted|npmjs",
    ],
)
def test_no_file_has_forbidden_construct(word: str) -> None:
    """No file uses a shell, code from text, root's home or another package index.

    One file runs code from text, for that is what a lesson's block is, and one holds the command
    with which a worker's Python runs the program that it is sent.
    """
    files = [
        *structure.python_files(PACKAGE),
        *CHECKS.glob("*/*.py"),
        *LESSONS.rglob("*.md"),
        *PACKAGE.rglob("*.yml"),
        *LESSONS.glob("*.yml"),
    ]
    if "npmjs" in word:
        files += [path for path in TESTS.rglob("*.py") if path.name != "test_rules.py"]
    if "exec" in word:
        files.remove(PACKAGE / "probe" / "lesson" / "block_runner.py")
        files.remove(PACKAGE / "cloud" / "jobs" / "worker_calls.py")
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


def long_test_names(folder: Path) -> list[str]:
    """Return the test names of more than eight words, and those used twice in their file."""
    found = []
    for path in folder.rglob("test_*.py"):
        names = re.findall(r"^ *(?:async )?def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)
        found += [name for name in names if name.count("_") > 8 or names.count(name) > 1]
    return found


def test_names_of_tests_are_short() -> None:
    """A test's name has at most eight words, and is used once in its file."""
    assert [] == long_test_names(TESTS)


def test_rule_of_test_names_can_fail(tmp_path: Path) -> None:
    """The rule of test names finds a long name and one that is used twice."""
    long = "test_one_two_three_four_five_six_seven_eight_nine"
    code = f"def {long}(): ...\ndef test_a(): ...\nasync def test_a(): ...\ndef test_b(): ...\n"
    (tmp_path / "test_a.py").write_text(code)

    assert [long, "test_a", "test_a"] == long_test_names(tmp_path)
