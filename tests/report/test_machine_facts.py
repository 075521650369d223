"""The machine and the paths of its frameworks in a report, read from files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions
from tpustarter.report.clean.cleaner import Cleaner
from tpustarter.report.clean.pseudonyms import Pseudonyms
from tpustarter.report.collect import collector as collect_collectors
from tpustarter.report.collect import frameworks, machine_sections, software
from tpustarter.report.collect.collector import Collector, ReportContext
from tpustarter.report.report_document import ReportSection


def told(collector: Collector, context: ReportContext) -> ReportSection:
    """Ask one collector, as a report does."""
    section, _ = collect_collectors.run_collector(
        collector, context, Cleaner(context.machine.env, Pseudonyms())
    )
    return section


def named(collectors: tuple[Collector, ...], name: str) -> Collector:
    """Return a collector by its name."""
    return next(one for one in collectors if one.name == name)


@pytest.fixture
def context(tmp_path: Path) -> ReportContext:
    """Return a machine without chips and a Python with JAX."""
    (tmp_path / "root/proc").mkdir(parents=True)
    machine = lay_out(tmp_path / "root", None)
    make_python(tmp_path / "v", jax="0.10.2", libtpu="0.0.50")
    python = Interpreter(
        tmp_path / "v/bin/python", "--python", read_framework_versions(tmp_path / "v")
    )
    return ReportContext(machine, tmp_path, python)


def claim(context: ReportContext, name: str) -> Path:
    """Return the folder that claims a package."""
    assert context.interpreter is not None
    prefix = context.interpreter.path.parent.parent
    return next(prefix.glob(f"lib/python3*/site-packages/{name}-*.dist-info"))


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        (None, None),
        ({"url": "https://github.com/x/jax.git", "vcs_info": {"vcs": "git"}}, "a repository"),
        ({"url": "file:///home/ada/jax", "dir_info": {"editable": True}}, "a folder"),
        ({"url": "file:///home/ada/jax.whl", "archive_info": {}}, "a file"),
        ({"url": "https://storage.googleapis.com/x.whl", "archive_info": {}}, "an address"),
    ],
)
def test_package_outside_index_is_marked(
    origin: dict[str, Any] | None, shown: str | None, context: ReportContext
) -> None:
    """A maintainer asks whether it is a build of one's own; its address is nobody's business."""
    folder = claim(context, "jax")
    (folder / "INSTALLER").write_text("uv\n")
    if origin:
        (folder / "direct_url.json").write_text(json.dumps(origin))
    facts = told(named(software.COLLECTORS, "python"), context).facts

    assert {"jax": "uv"} == facts["installed_by"]
    assert ({"jax": shown} if shown else {}) == facts["not_from_an_index"]
    assert "ada" not in json.dumps(facts)


def test_package_in_two_folders_has_both_versions(context: ReportContext) -> None:
    """A package in two folders, as after a broken installation, has both versions."""
    folder = claim(context, "libtpu").parent
    (folder / "libtpu-0.0.17.dist-info").mkdir()
    facts = told(named(software.COLLECTORS, "python"), context).facts

    assert "0.0.17" == facts["packages"]["libtpu"]
    assert [{"name": "libtpu", "version": "0.0.50"}] == facts["hidden"]


def test_kernel_oom_kills_are_reported(context: ReportContext) -> None:
    """OOM kills of the kernel and the host's memory limit are reported."""
    root = context.machine.root
    (root / "proc/vmstat").write_text("nr_free_pages 1\noom_kill 3\n")
    (root / "proc/uptime").write_text("7200.51 1.0\n")
    (root / "proc/cpuinfo").write_text("processor : 0\nmodel name\t: AMD EPYC 7B13\n")
    (root / "proc/self").mkdir(exist_ok=True)
    (root / "proc/self/cgroup").write_text("0::/job\n")
    for group, limit in (("", "max"), ("/job", "2147483648")):
        (root / f"sys/fs/cgroup{group}").mkdir(parents=True, exist_ok=True)
        (root / f"sys/fs/cgroup{group}/memory.max").write_text(f"{limit}\n")
    facts = told(named(machine_sections.COLLECTORS, "resources"), context).facts

    assert (3, 7200, "AMD EPYC 7B13", 1 << 31) == tuple(
        facts[name] for name in ("oom_kills", "uptime_s", "cpu", "limit_bytes")
    )


@pytest.mark.parametrize(
    "model", ["AMD EPYC of-ada", "Ada's own processor", "Intel(R) Xeon(R) CPU @ ada"]
)
def test_unknown_processor_name_is_left_out(model: str, context: ReportContext) -> None:
    """An emulator can call it anything."""
    (context.machine.root / "proc/cpuinfo").write_text(f"model name : {model}\n")
    facts = told(named(machine_sections.COLLECTORS, "resources"), context).facts

    assert "cpu" not in facts


TENSORFLOW = """
from types import SimpleNamespace as S
__version__ = "2.21.0"
version = S(GIT_VERSION="{built}", VERSION="2.21.0")
distribute = S(cluster_resolver=S(TPUClusterResolver=lambda where: where))
config = S(experimental_connect_to_cluster=print, list_logical_devices=lambda kind: [kind] * 8)
tpu = S(experimental=S(initialize_tpu_system=print))
"""


@pytest.mark.parametrize(
    ("built", "shown"),
    [("v2.21.0-rc1-2-g1ef0cafe99", "v2.21.0-rc1-2-g1ef0cafe99"), ("v2.9-ada-corp", None)],
)
def test_tensorflow_reports_its_build(
    built: str, shown: str | None, context: ReportContext
) -> None:
    """TensorFlow reports its build, and no TPU is started on a machine without one."""
    packages = claim(context, "jax").parent
    (packages / "tensorflow.py").write_text(TENSORFLOW.format(built=built))
    (packages / "tensorflow-2.21.0.dist-info").mkdir()
    facts = told(frameworks.make_framework_collector("tensorflow", 8.0), context).facts

    assert "2.21.0" == facts["version"]
    assert shown == facts.get("built_from")
    assert "not asked" == facts["steps"][1]["state"]


def test_torch_xla_reports_its_commits(context: ReportContext, tmp_path: Path) -> None:
    """Nightly builds are named by them."""
    make_python(tmp_path / "t", torch_xla="2.9.0")
    package = next((tmp_path / "t").glob("lib/python3*/site-packages/torch_xla"))
    (package / "version.py").write_text(
        "__torch_gitrev__ = '0123456789abcdef'\n__xla_gitrev__ = 'ada'\n"
    )
    context.interpreter = Interpreter(tmp_path / "t/bin/python", "--python", {"torch_xla": ""})
    facts = told(frameworks.make_framework_collector("torch_xla", 8.0), context).facts

    assert {"torch": "0123456789abcdef", "torch_xla": "(not told)"} == facts["commits"]
