"""Frameworks run in processes that are ended: the report for each outcome."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from tests.support import report_machine as telling
from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions
from tpustarter.report.clean.allowed_fields import (
    OmittedFact,
    clean_number,
    cleaned_text_rule,
    pattern_rule,
)
from tpustarter.report.clean.cleaner import Cleaner
from tpustarter.report.clean.pseudonyms import Pseudonyms
from tpustarter.report.collect import collector, frameworks, stacks
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext
from tpustarter.report.report_document import ReportSection

WAIT_S = 60.0
HANG_WAIT_S = 4.0
"""For a framework that hangs: the limit is reached in any case."""


def asked(context: ReportContext, framework: str = "jax") -> ReportSection:
    """Run a framework's section; nothing of the stubs' output may be left out."""
    cleaner = Cleaner(context.machine.env, Pseudonyms())
    section, _ = collector.run_collector(
        frameworks.make_framework_collector(framework, context.wait_s), context, cleaner
    )
    return section


def context_of(
    tmp_path: Path,
    python: Interpreter | None,
    generation: str | None = None,
    wait_s: float = WAIT_S,
) -> ReportContext:
    """Return a laid-out machine with a Python."""
    root = tmp_path / "root"
    root.mkdir()
    env = {"PATH": "/usr/bin:/bin", "ZQ7_TEXTS": "[]", "TPUSTARTER_HOME": "unused"}
    machine = lay_out(root, generation, chips=4, env=env)
    return ReportContext(machine, tmp_path, python, wait_s=wait_s)


def steps(section: ReportSection) -> dict[str, str]:
    """Return the state of each step."""
    return {one["step"]: one["state"] for one in section.facts["steps"]}


def test_hang_has_step_seconds_and_stack(tmp_path: Path) -> None:
    """A hang is reported with its step, seconds and stack, and its process is ended."""
    python = telling.hostile_python(tmp_path / "v", "hangs")
    section = asked(context_of(tmp_path, python, wait_s=HANG_WAIT_S))
    facts = section.facts

    assert ("answered", "jax.devices()") == (section.state, facts["hung_in"])
    assert {"import jax": "answered", "jax.devices()": "hung"}.items() <= steps(section).items()
    assert "not asked" == steps(section)["environment of JAX"]
    assert facts["waited_s"] >= HANG_WAIT_S
    assert "in local_devices" in facts["python_stack"]
    assert facts["no_native_stack"] or facts["native_stack"]
    assert [] == _running(tmp_path)


@pytest.mark.parametrize(
    ("begins", "hung", "unfinished"),
    [("while True: pass", None, "import jax"), ("import time; time.sleep(99)", "import jax", None)],
    ids=["computes", "waits"],
)
def test_import_that_computes_is_slow(
    tmp_path: Path, begins: str, hung: str | None, unfinished: str | None
) -> None:
    """An import that computes is slow, and only an idle one counts as hung."""
    python = telling.hostile_python(tmp_path / "v")
    (package,) = (tmp_path / "v").glob("lib/python3*/site-packages/jax/__init__.py")
    package.write_text(f"{begins}\n")
    facts = asked(context_of(tmp_path, python, wait_s=HANG_WAIT_S)).facts

    assert (hung, unfinished) == (facts.get("hung_in"), facts.get("unfinished_in"))
    assert (facts.get("cores") is None) == (unfinished is None)
    assert ("unfinished" if unfinished else "hung") == facts["steps"][0]["state"]


def _running(folder: Path) -> list[str]:
    """Return the processes that run a file below a folder."""
    lines: list[str] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal():
                lines.append((entry / "cmdline").read_bytes().decode(errors="replace"))
    return [line for line in lines if str(folder) in line]


def test_crash_and_error_are_distinguished(tmp_path: Path) -> None:
    """A crash has an exit code, and an error has its exception."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    dies = asked(context_of(tmp_path / "a", telling.hostile_python(tmp_path / "v", "dies")))
    raises = asked(context_of(tmp_path / "b", telling.hostile_python(tmp_path / "w", "raises")))

    assert "exit code 3 in jax.devices()" == dies.facts["ended"]
    assert "crashed" == steps(dies)["jax.devices()"]
    assert "failed" == steps(raises)["jax.devices()"]
    assert raises.facts["error"].splitlines()[-1].startswith("RuntimeError")


def test_devices_in_use_are_not_started(tmp_path: Path) -> None:
    """Devices in use aren't started, and the reason is in the report."""
    root = tmp_path / "root"
    root.mkdir()
    machine = lay_out(root, "v5e", chips=4, holder={"pid": 4242}, env={"ZQ7_TEXTS": "[]"})
    python = telling.hostile_python(tmp_path / "v", "dies")
    section = asked(ReportContext(machine, tmp_path, python, wait_s=WAIT_S))

    assert "answered" == steps(section)["import jax"]
    assert "not asked" == steps(section)["jax.devices()"]
    assert "in use by pid 4242" in section.facts["not_asked_because"]


def test_environment_of_framework_hides_unlisted_values(tmp_path: Path) -> None:
    """Variables are told by the list that holds everywhere."""
    context = context_of(tmp_path, telling.hostile_python(tmp_path / "v"))
    env = {
        **context.machine.env,
        "JAX_MINE": "hidden",
        "JAX_ENABLE_X64": "1",
        "XLA_FLAGS": "--xla_dump_to=/x --xla_cpu_y=3",
    }
    context.machine = type(context.machine)(context.machine.root, env)
    said = asked(context).facts["environment_info"].splitlines()

    assert "JAX_ENABLE_X64=1" in said
    assert not [line for line in said if line.startswith(("JAX_PLATFORMS", "JAX_COMPILATION"))]
    assert "XLA_FLAGS=--xla_dump_to=(set) --xla_cpu_y=3" in said
    assert not [line for line in said if "hidden" in line or "JAX_MINE" in line]


def test_missing_collect_env_of_torch_is_reported(tmp_path: Path) -> None:
    """A torch without collect_env is reported as such."""
    python = make_python(tmp_path / "v", torch_xla="2.9.0")
    context = context_of(
        tmp_path, Interpreter(python, "--python", read_framework_versions(tmp_path / "v"))
    )
    context.shared.packages = {"torch": "2.9.0", "torch_xla": "2.9.0"}
    section = asked(context, "torch")

    assert ["torch", "torch_xla"] == frameworks.list_frameworks(context)
    assert "failed" == steps(section)["environment of PyTorch"]
    assert "error" not in section.facts
    assert "torch.utils" in section.facts["aside"]


def test_missing_python_leaves_section_unanswered(tmp_path: Path) -> None:
    """Without a Python the section is unanswered and gives that as its reason."""
    section = asked(context_of(tmp_path, None))

    assert ("unanswered", "there is no Python to test on this machine") == (
        section.state,
        section.why,
    )


def test_missing_or_refused_py_spy_is_reported(tmp_path: Path) -> None:
    """A missing or refused py-spy is reported, without its command line."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    python, spy = bin_folder / "python", bin_folder / "py-spy"

    assert (
        "py-spy is not installed"
        in stacks.read_native_stacks(1, python, {"PATH": str(tmp_path)})[1]
    )
    spy.write_text("#!/bin/sh\necho 'Permission Denied: try sudo' >&2; exit 1\n")
    spy.chmod(0o755)
    assert "may not look at it: Permission Denied" in stacks.read_native_stacks(1, python, {})[1]
    spy.write_text("#!/bin/sh\nprintf 'Process 1: python x --password y\\n    main (x.py:1)\\n'\n")
    assert ("    main (x.py:1)", "") == stacks.read_native_stacks(1, python, {})


def _hangs(_: ReportContext) -> dict[str, Any]:
    import threading

    threading.Event().wait()
    return {}


def _refuses(_: ReportContext) -> dict[str, Any]:
    raise CollectorUnanswered("there is nothing")


COLLECTED = {
    "hangs": (_hangs, "unanswered", "no answer within 0.05 s"),
    "breaks": (lambda _: {"x": 1 // 0}, "unanswered", "ZeroDivisionError while it was asked"),
    "refuses": (_refuses, "unanswered", "there is nothing"),
    "tells what is not allowed": (lambda _: {"y": 1}, "left out", "nothing of it could be cleaned"),
    "tells another form": (lambda _: {"x": "z"}, "left out", "nothing of it could be cleaned"),
    "answers": (lambda _: {"x": 3}, "answered", ""),
}


@pytest.mark.parametrize("name", COLLECTED)
def test_failing_collector_still_gives_section(name: str, tmp_path: Path) -> None:
    """A collector that fails or gives what isn't allowed still has its section, with a reason."""
    collect, state, why = COLLECTED[name]
    limit_s = 0.05 if name == "hangs" else WAIT_S
    one = Collector("name", "Title", collect, {"x": clean_number}, limit_s=limit_s)
    cleaner = Cleaner({}, Pseudonyms())
    section, left_out = collector.run_collector(one, context_of(tmp_path, None), cleaner)

    assert (state, why) == (section.state, section.why or "")
    assert (state == "answered") == (left_out == [])


def test_failing_cleaner_leaves_field_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If cleaning fails, the field is left out and named, and the others are kept."""
    cleaner = Cleaner({}, Pseudonyms())
    monkeypatch.setattr(cleaner, "clean_text", lambda *_: 1 // 0)
    facts = {"said": "hidden", "state": "fine"}
    one = Collector(
        "name",
        "Title",
        lambda _: facts,
        {"said": cleaned_text_rule(), "state": pattern_rule("fine")},
    )
    section, left_out = collector.run_collector(one, context_of(tmp_path, None), cleaner)

    assert {"state": "fine"} == section.facts
    why = "it could not be cleaned (ZeroDivisionError)"
    assert [OmittedFact("name.said", why, is_unknown=False)] == left_out
