"""Files that reproduce failures: their content, their endings, and their report."""

from __future__ import annotations

import ast
import builtins
import copy
import json
import symtable
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.report.reproduce_ten import has_no_tpustarter
from tests.report.test_canaries import leaks, make_contexts
from tests.support import report_machine as telling
from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions
from tpustarter.checking.results import last_failures
from tpustarter.checking.results.results import Result, Run
from tpustarter.core import content, state
from tpustarter.core.problem import Problem
from tpustarter.learning.content import blocks
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.report import make_report, reproducers
from tpustarter.report.collect import reproducible_failures as collect_failures
from tpustarter.report.collect.collector import ReportContext
from tpustarter.report.forms import bundle, markdown_form
from tpustarter.report.open import opened_report
from tpustarter.reproducing import merged_code, reproducer_file, reproducer_run, variants
from tpustarter.reproducing.reproducer_file import (
    FailureEnvironment,
    ReproducedFailure,
    ReproducerFile,
)
from tpustarter.reproducing.reproducer_run import ReproducerEnvironment, TrialOutcome
from tpustarter.reproducing.variants import TriedVariant, Variant

FRAMEWORKS = ("jax", "torch_xla", "torch_tpu")
WITHOUT = {"torch_xla.debug_variables": "it hands a file of this program on as a whole"}
"""Checks of which no file can be made."""
ALLOWED = {
    *sys.stdlib_module_names,
    "jax",
    "jaxlib",
    "libtpu",
    "ml_dtypes",
    "msgpack",
    "numpy",
    "orbax",
    "torch",
    "torch_xla",
    "torch_tpu",
}
ON_CPU = FailureEnvironment(
    "cpu",
    8,
    None,
    "8 virtual CPU devices",
    {"jax": "0.12.0.1"},
    "3.12.1",
    {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"},
)
ON_TPU = replace(
    ON_CPU,
    platform="tpu",
    generation="v6e",
    where="TPU v6e, 8 chips",
    env={"JAX_PLATFORMS": "tpu,cpu"},
)

CHECK = '''"""Two and two are four."""

import jax

from tpustarter.checks.jax import _sums
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._sums import SIZE as WIDTH
from tpustarter.probe.finding import compare
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "jax/first-program"
SOURCE = "https://docs.jax.dev/en/latest/"
ENV = {"JAX_SUM": "é"}
ADDED = 2
# What nobody needs.
UNUSED = 3


def difference(x):
    """Return what is left of `x`."""
    return x - WIDTH


@with_defaults
def run():
    """Add, with names that something else has elsewhere."""
    total, where = _sums.total(ADDED), target().platform  # é: offsets count bytes
    assert [difference for difference in (total,)] == [total]
    yield compare("JAX-SUM-FOUR", f"two and two on {where}", _sums.difference(total), 0)
    yield compare("JAX-SUM-OWN", "size", difference(4), 0)
'''
SHARED = '''"""Sums."""

import jax.numpy as jnp

SIZE = 4
"""What it should be."""


def difference(x):
    """Return how far `x` is from the size."""
    return x - SIZE


def total(number):
    return jnp.add(number, number)
'''


@pytest.fixture
def checks(tmp_path: Path) -> Path:
    """Return a folder of checks with one that imports another file."""
    folder = tmp_path / "checks"
    (folder / "jax").mkdir(parents=True)
    (folder / "jax/sums.py").write_text(CHECK)
    (folder / "jax/_sums.py").write_text(SHARED)
    (folder / "jax/_defaults.py").write_text("def with_defaults(run): return run\n")
    return folder


def python_of(folder: Path, body: str) -> Interpreter:
    """Make a Python whose JAX has the given addition."""
    python = make_python(folder, jax="0.12.0.1")
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "jax.py").unlink()
    (packages / "jax").mkdir()
    (packages / "jax/__init__.py").write_text("")
    (packages / "jax/numpy.py").write_text(f"def add(x, y):\n    {body}\n")
    return Interpreter(python, "--python", read_framework_versions(folder))


def of_sums(checks: Path, failure: ReproducedFailure | None = None) -> ReproducerFile:
    """Return the file of the check."""
    return reproducer_file.make_check_file(
        content.read_checks(checks)[0], failure, ON_CPU, checks=checks
    )


def tried(tmp_path: Path, made: ReproducerFile, body: str, limit_s: float = 120) -> TrialOutcome:
    """Run a file with a JAX that has the given addition."""
    place = tmp_path / "run"
    place.mkdir()
    bench = ReproducerEnvironment(
        python_of(tmp_path / "venv", body).path, place, {"PATH": "/usr/bin:/bin"}
    )
    return reproducer_run.run_file(made, bench, {}, limit_s)


def undefined(text: str) -> set[str]:
    """Return the names that a file reads and nothing binds."""

    def tables(one: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
        yield one
        for child in one.get_children():
            yield from tables(child)

    top = symtable.symtable(text, "file", "exec")
    known = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    read = {
        symbol.get_name()
        for table in tables(top)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and symbol.is_global()
    }
    read |= {one.get_name() for one in top.get_symbols() if one.is_referenced()}
    by_compiler = {"__name__", "__conditional_annotations__"}  # the latter from Python 3.14 on
    return read - known - {*dir(builtins), *by_compiler}


def imported(text: str) -> set[str]:
    """Return the packages that a file imports."""
    nodes = [*ast.walk(ast.parse(text))]
    return {
        name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [one.name for one in node.names]
        )
    }


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_check_runs_with_its_framework_alone(framework: str) -> None:
    """Every check's file defines all its names and imports only its framework."""
    without = {}
    for check in content.read_checks():
        if check.framework != framework:
            continue
        try:
            text = reproducer_file.make_check_file(check, None, ON_TPU).text
        except merged_code.NotStandalone as error:
            without[check.id] = str(error)
            continue

        assert set() == undefined(text), check.id
        assert imported(text) <= ALLOWED, check.id
        assert max(map(len, text.splitlines())) <= 120, check.id
    assert {name: why for name, why in WITHOUT.items() if name.startswith(framework)} == without


def test_file_has_only_code_claim_needs(checks: Path) -> None:
    """Names are the check's own, unless two files have them; settings come before imports."""
    finding = {"code": "JAX-SUM-FOUR", "name": "two", "found": '5 "\\', "expected": 4}
    text = of_sums(checks, ReproducedFailure("jax.sums", "fail", findings=(finding,))).text

    assert "UNUSED" not in text
    assert 'Found by JAX-SUM-FOUR, two: found 5 "/, expected 4\n' in text
    assert "with_defaults" not in text
    assert text.index('os.environ["JAX_SUM"]') < text.index("import jax.numpy")
    assert "sums_difference(total), 0)" in text
    assert "return x - SIZE" in text
    assert "JAX_PLATFORMS=cpu JAX_NUM_CPU_DEVICES=8 EXPECTED_PLATFORM=cpu" in text
    assert set() == undefined(text)


def test_check_that_reads_whole_file_is_refused(checks: Path) -> None:
    """A check that reads its file as a whole has no reproducer, and the error says so."""
    (checks / "jax/sums.py").write_text(CHECK.replace("difference(4)", "vars(_sums)"))
    with pytest.raises(merged_code.NotStandalone, match="as a whole"):
        of_sums(checks)


FOUR = ReproducedFailure("jax.sums", "fail", findings=({"code": "JAX-SUM-FOUR"},))
LOG = 'Traceback (most recent call last):\n  File "x.py", line 2, in add\n    raise\nKeyError: 1\n'
ENDS = {
    "return x + y": (None, "holds"),
    "return x * y + 1": (FOUR, "fails (JAX-SUM-FOUR)"),
    "raise KeyError(7)": (
        ReproducedFailure("jax.sums", "error", "exception", "KeyError: 1", log=LOG),
        "raises (KeyError)",
    ),
    "import os; os._exit(3)": (None, "crashes (exit code 3)"),
    "import os; os.abort()": (
        ReproducedFailure("jax.sums", "error", "crashed", "the process was ended by SIGABRT"),
        "crashes (SIGABRT)",
    ),
}


@pytest.mark.parametrize("body", ENDS)
def test_file_ends_as_its_check(body: str, tmp_path: Path, checks: Path) -> None:
    """A file ends like its check, by codes, exception type and place, or signal."""
    failure, words = ENDS[body]
    outcome = tried(tmp_path, of_sums(checks, failure), body)
    others = [one for one, _ in ENDS.values() if one and one is not failure]

    assert words == outcome.words
    assert failure is None or reproducer_run.is_same_failure(failure, outcome)
    assert not any(reproducer_run.is_same_failure(one, outcome) for one in others)
    assert str(tmp_path) not in outcome.output.replace(str(tmp_path / "venv"), "")


def test_hanging_file_is_ended(tmp_path: Path, checks: Path) -> None:
    """A file that hangs is ended, which counts as the same if the check was ended too."""
    made = of_sums(checks)
    outcome = tried(tmp_path, made, "import time; time.sleep(600)  # hangs", limit_s=1)

    assert "hangs" == outcome.kind
    assert reproducer_run.is_same_failure(
        ReproducedFailure("jax.sums", "error", "timeout"), outcome
    )
    assert not reproducer_run.is_same_failure(FOUR, outcome)


LESSON = """---
title: Sums
minutes: 5
checks: []
needs: {}
---

```python run id=numbers
two = 2
```

```python run id=unused
three = 3
```

```python run id=sum
print("sum", two + two)
```

```output of=sum on=any
sum 5
```
"""


def test_block_includes_required_blocks(tmp_path: Path) -> None:
    """A block's file includes the blocks it requires, and only its own output is compared."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax/01-sums.md").write_text(LESSON)
    lesson = content.read_lesson(tmp_path / "jax/01-sums.md")
    every = blocks.list_blocks(lesson)
    failure = ReproducedFailure(
        "jax/sums:sum", "fail", detail="line 1: found `sum 4`, expected `sum 5`"
    )
    made = reproducer_file.make_block_reproducer(lesson, every, every[2], failure, ON_CPU)
    outcome = tried(tmp_path, made, "return 0")

    assert "two = 2" in made.text
    assert "three" not in made.text
    assert "fails (line 1: found `sum 4`, expected `sum 5`)" == outcome.words
    assert reproducer_run.is_same_failure(failure, outcome)


def test_inapplicable_variants_give_reason() -> None:
    """A variant that doesn't apply gives its reason, and the others give none."""
    check = next(one for one in content.read_checks() if one.id == "jax.all_reduce")
    on_tpu = reproducer_file.make_check_file(check, None, ON_TPU)
    on_cpu = reproducer_file.make_check_file(check, None, ON_CPU)
    alone = replace(on_cpu, needs={"devices": 2}, sets=("JAX_DEFAULT_MATMUL_PRECISION",))

    assert [""] * 5 == [one.why_not for one in variants.list_variants(on_tpu, ON_TPU)]
    assert "TPU_VISIBLE_CHIPS" in variants.list_variants(on_tpu, ON_TPU)[3].env
    assert ["", "", "it ran on the CPU already", "", ""] == [
        one.why_not for one in variants.list_variants(on_cpu, ON_CPU)
    ]
    assert ["the claim sets the precision itself", "the claim needs 2 devices"] == [
        one.why_not for one in variants.list_variants(alone, ON_CPU)[1::2]
    ][:2]
    alone_on_tpu = variants.list_variants(on_tpu, replace(ON_TPU, devices=1))
    assert [False, False, False, True, False] == [bool(one.why_not) for one in alone_on_tpu]
    torch = replace(on_tpu, framework="torch_tpu")
    assert "this framework has no CPU devices" == variants.list_variants(torch, ON_TPU)[2].why_not


def test_conclusion_orders_variants_by_importance() -> None:
    """The conclusion lists variants that still fail, then those that hold, then other outcomes."""
    fails = TrialOutcome("fails", frozenset({"A-B"}))
    rows = [
        TriedVariant(Variant("as it is", {}, "as it is"), fails),
        TriedVariant(Variant("", {}, "at precision highest"), TrialOutcome("holds")),
        TriedVariant(Variant("", {}, "on CPU devices"), None, "it ran there"),
        TriedVariant(Variant("", {}, "on one device"), fails),
        TriedVariant(Variant("", {}, "without jit"), TrialOutcome("raises", error="TypeError")),
    ]

    assert variants.compare_outcomes(rows) == (
        "It fails as it is and on one device, and it holds at precision highest, and without jit "
        "it raises (TypeError)."
    )


def remember(check_id: str, texts: tuple[str, ...] = ("no",), python: str = "") -> None:
    """Keep a failure as a run would have."""
    finding = {
        "code": "JAX-X-Y",
        "name": texts[0],
        "verdict": "fail",
        "found": texts[-1],
        "expected": "\n".join(texts),
        "entity": texts[0],
        "unit": None,
    }
    kept = {
        "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": python,
        "status": "fail",
        "detail": texts[0],
        "findings": [finding],
        "log": "\n".join(texts),
    }
    state.save_state("last-failures", {"failures": {check_id: kept}})


def test_report_has_files_and_their_outcome_first(tmp_path: Path) -> None:
    """A stub of JAX has no `numpy`: the file raises, and before the check failed otherwise."""
    remember("jax.all_reduce")
    python = make_python(tmp_path / "venv", jax="0.12.0.1")
    root = tmp_path / "root"
    root.mkdir()
    interpreter = Interpreter(python, "--python", read_framework_versions(tmp_path / "venv"))
    context = ReportContext(lay_out(root, None), tmp_path, interpreter)
    report = make_report.make_report(
        context, query_frameworks=True, only=("reproducers", "python", "known")
    )
    packed = bundle.write_bundle(report, tmp_path / "out")
    with tarfile.open(packed) as tar:
        opened = {one.name.partition("/")[2]: tar.extractfile(one) for one in tar}
        data = {name: file.read() for name, file in opened.items() if file}
    schema = json.loads(resources.files("tpustarter.report").joinpath("schema.json").read_text())
    jsonschema.validate(report.document, schema)
    text = data["report.md"].decode()
    printed = data["reproducers/jax_all_reduce.txt"].decode()
    manifest = {one["name"] for one in json.loads(data["manifest.json"])["files"]}

    assert set() == undefined(data["reproducers/jax_all_reduce.py"].decode())
    assert {"reproducers/jax_all_reduce.py", "reproducers/jax_all_reduce.txt"} <= manifest
    assert "does not fail in the same way: it raises (ModuleNotFoundError)" in printed
    assert "No module named 'jax.numpy'" in printed
    assert "| as it is | raises (ModuleNotFoundError) |" in text
    assert "| one device | raises (ModuleNotFoundError) |" in text
    assert "| `JAX_DISABLE_JIT=1` | raises" in text
    assert "**What happens**: `jax.all_reduce` fails, and so does a file" in " ".join(text.split())
    known = next(one for one in report.document["sections"] if one["name"] == "known")
    assert "the files that reproduce failures" in known["facts"]["searched"]
    assert has_no_tpustarter(interpreter)


@pytest.mark.parametrize("devices", ["answers", "hangs"])
def test_no_canary_in_report_with_reproducers(
    devices: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No canary of failed runs or reproducers is in the report; after a hang nothing is run."""
    remember("jax.all_reduce", telling.TEXTS)
    lesson = next(one for one in content.read_lessons() if one.id == "jax/precision")
    block = blocks.list_blocks(lesson)[0]
    result = BlockResult(block.id, "error", "exception", "\n".join(telling.TEXTS))
    lesson_progress.record_block(lesson, block, result)
    hung = "It was not run, because jax did not come back from `jax.devices()`."
    for context in make_contexts(tmp_path, home, monkeypatch, None, devices):
        report = make_report.make_report(context)
        section = next(o for o in report.document["sections"] if o["name"] == "reproducers")
        rows = {one["id"]: one for one in section["facts"]["files"]}

        assert {} == leaks(report)
        assert {"jax.all_reduce", f"jax/precision:{block.id}"} == {*rows}
        assert {"reproducers/jax_all_reduce.py"} <= {*bundle.make_bundle_files(report)}
        assert (devices == "hangs") == ({hung} == {one["says"] for one in rows.values()})
        assert "Found by JAX-X-Y" in rows["jax.all_reduce"]["code"]
        if devices == "answers":
            assert "[secret]" in rows["jax.all_reduce"]["output"]


def test_unreproducible_item_is_refused_by_name() -> None:
    """A check of the host, a block that is not there, and a lesson in which nothing failed."""
    for name, what in {
        "host.chips": "uses no framework",
        "jax.nothing": "jax.nothing",
        "jax/precision:nothing": "has no block",
        "jax/nothing": "no lesson",
        "jax/precision": "no block of",
    }.items():
        with pytest.raises(Problem, match=what):
            collect_failures.find_reproducer(name)


def test_spoilt_reproducer_in_bundle_is_left_out(tmp_path: Path) -> None:
    """A row of another shape is left out, and nothing breaks."""
    remember("jax.all_reduce")
    root = tmp_path / "root"
    root.mkdir()
    python = make_python(tmp_path / "venv", jax="0.12.0.1")
    context = ReportContext(lay_out(root, None), tmp_path, Interpreter(python, "--python"))
    report = make_report.make_report(context, query_frameworks=False, only=("reproducers",))
    opened = opened_report.open_report(bundle.write_bundle(report, tmp_path / "out"))
    section = next(one for one in opened["sections"] if one["name"] == "reproducers")

    assert "It was not run" in section["facts"]["files"][0]["says"]
    assert "`jax.all_reduce`" in markdown_form.render_markdown(opened)
    for key in (*section["facts"]["files"][0], None):
        one = copy.deepcopy(report.document)
        [row] = next(o for o in one["sections"] if o["name"] == "reproducers")["facts"]["files"]
        row.update({key: [7]} if key else {"variants": [{}]})
        file = tmp_path / "report.json"
        file.write_text(json.dumps(one))

        assert markdown_form.render_markdown(opened_report.open_report(file), 1 << 30), key


def test_passing_check_is_forgotten() -> None:
    """A check that passes is forgotten; a host check, which has no reproducer, is never kept."""
    found = {"code": "JAX-X-Y", "verdict": "fail", "found": 1}
    run = Run("0", "2026-11-22T10:00:00+00:00", "quick", target={"python": "/x/bin/python"})
    run.results = [
        Result(
            "jax.sorting", "", "fail", findings=(found, {**found, "verdict": "ok"}), framework="jax"
        ),
        Result("jax.narrowing", "", "error", "timeout", framework="jax"),
        Result("host.chips", "", "fail", findings=(found,), framework="host"),
    ]
    last_failures.save_failures(run)
    kept = last_failures.read_last_failures()
    run.results = [Result("jax.sorting", "", "warn", framework="jax")]
    last_failures.save_failures(run)

    assert {"jax.sorting": (found,), "jax.narrowing": ()} == {o.id: o.findings for o in kept}
    assert {"/x/bin/python"} == {one.python for one in kept}
    assert ["jax.narrowing"] == [one.id for one in last_failures.read_last_failures()]


def test_invalid_remembered_failures_are_ignored() -> None:
    """A file of the state folder may hold anything; a check that is gone is left out."""
    remember("jax.sorting")
    kept = last_failures.read_last_failures()

    assert ["jax.sorting"] == [one.id for one in collect_failures.list_newest_failures()]
    assert [("JAX-X-Y", "no")] == [(one["code"], one["found"]) for one in kept[0].findings]
    state.save_state("last-failures", {"failures": {"jax.sorting": 7, "jax.x": {"findings": [3]}}})
    assert [()] == [one.findings for one in last_failures.read_last_failures()]
    assert [] == collect_failures.list_newest_failures()


def test_failure_of_another_python_is_not_compared(tmp_path: Path) -> None:
    """A failure of another Python isn't compared, and the file and the report say so."""
    remember("jax.all_reduce", python="/elsewhere/bin/python")
    python = make_python(tmp_path / "venv", jax="0.12.0.1")
    root = tmp_path / "root"
    root.mkdir()
    interpreter = Interpreter(python, "--python", read_framework_versions(tmp_path / "venv"))
    context = ReportContext(lay_out(root, None), tmp_path, interpreter)
    facts = reproducers.make_reproducer_collector((), "nothing was to be started").collect(context)
    [row] = facts["files"]

    assert "not run" == row["state"]
    assert row["says"].endswith("It failed in another Python, which `--python` names.")
