"""Checks of TorchTPU: body and sabotage on torch's `cpu` device. None was tried on a TPU here."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.places import REPOSITORY
from tests.torch.tpu_sabotage import METADATA, RANKS_SABOTAGE, SABOTAGE, Break, Package
from tpustarter import checks
from tpustarter.probe.target import Target, set_target
from tpustarter.running import probe_archive

CHECKS = Path(next(iter(checks.__path__)))
NAMES = sorted(
    path.stem for path in (CHECKS / "torch_tpu").glob("*.py") if not path.name.startswith("_")
)
NO_TCMALLOC = "7f0 r-xp 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n"
TCMALLOC = f"{NO_TCMALLOC}7f1 r-xp 00000000 08:01 2 /usr/lib/libtcmalloc_minimal.so.4.5.9\n"
FOR_A_TPU = {"platform": "tpu"}
RANKS = """\
import json, sys
from tests.torch import tpu_sabotage
from tpustarter.checks.torch_tpu import every_device
if sys.argv[1:]:
    setattr(every_device, sys.argv[1], getattr(tpu_sabotage, sys.argv[2]))
print(json.dumps([one.as_dict() for one in every_device.run("cpu", 2)]))
"""
"""Runs the check as the probe does: from the archive, where spawned ranks find it again."""

pytestmark = [
    # torch 2.9 itself recommends both the old and the new names of this setting.
    pytest.mark.filterwarnings("ignore:Please use the new API settings to control TF32"),
]


@pytest.fixture(autouse=True)
def target(tmp_path: Path) -> Generator[None]:
    """Judge as on a machine without a TPU, and count compilations anew."""
    set_target(Target(root=tmp_path))
    torch._dynamo.reset()
    yield
    set_target(Target())


def module(name: str) -> Any:
    """Import a check."""
    return importlib.import_module(f"tpustarter.checks.torch_tpu.{name}")


def findings(name: str) -> list[Any]:
    """Run a check on the CPU: where it needs a TPU, its body takes the device as an argument."""
    check = module(name)
    if name in METADATA:
        libtpu_absent = Package(requires=["torch>=2.9.0,<=2.15.0"])
        return list(check.run(Package() if name == "googles_package" else libtpu_absent))
    if name == "host_allocator":
        return list(check.run(TCMALLOC))
    return list(check.run("cpu")) if check.NEEDS else list(check.run())


def ranks(folder: Path, *sabotage: str) -> list[dict[str, Any]]:
    """Run the check of every device in two processes on the CPU."""
    path = os.pathsep.join(
        [str(probe_archive.build_probe_archive(folder / "probe.pyz")), str(REPOSITORY)]
    )
    done = subprocess.run(
        [sys.executable, "-c", RANKS, *sabotage],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # above it, Gloo says whom it knows


@pytest.mark.parametrize("name", [name for name in NAMES if name != "every_device"])
def test_the_body_holds_on_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every finding is ok or info, and global settings are as before."""
    if name == "versions_in_range":  # this lane has torch_xla, too
        versions = module(name).installed
        monkeypatch.setattr(
            module(name), "installed", lambda one: versions(one) if one == "torch" else None
        )
    before = (
        torch.get_float32_matmul_precision(),
        torch.get_default_dtype(),
        torch.random.get_rng_state().tolist(),
    )
    found = findings(name)

    assert found
    assert [] == [one for one in found if one.verdict not in ("ok", "info")]
    assert any(one.verdict == "ok" for one in found)
    assert before == (
        torch.get_float32_matmul_precision(),
        torch.get_default_dtype(),
        torch.random.get_rng_state().tolist(),
    )


@pytest.mark.parametrize(
    ("name", "code", "breaks"), [(name, *row) for name, rows in SABOTAGE.items() for row in rows]
)
def test_a_broken_body_fails(
    name: str, code: str, breaks: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding that the sabotage is aimed at fails, with a hint."""
    breaks(monkeypatch, module(name))
    failed = [one for one in findings(name) if one.verdict == "fail"]

    assert code in {one.code for one in failed}
    assert all(one.hint for one in failed)


@pytest.mark.parametrize("sabotage", [(), *RANKS_SABOTAGE], ids=" ".join)
def test_every_rank_computes_its_share(sabotage: tuple[str, ...], tmp_path: Path) -> None:
    """Two processes agree with NumPy, and each broken function is seen by all of them."""
    found = ranks(tmp_path, *sabotage[:2])
    failed = {one["code"] for one in found if one["verdict"] == "fail"}

    assert ["info", 2] == [found[0]["verdict"], found[0]["found"]]
    assert set(sabotage[2:]) <= failed
    assert bool(sabotage) == bool(failed)
    assert all(one["hint"] for one in found if one["verdict"] == "fail")


@pytest.mark.parametrize(
    ("name", "code", "verdict", "package"),
    [(name, *row) for name, rows in METADATA.items() for row in rows],
)
def test_another_package_is_named(name: str, code: str, verdict: str, package: Package) -> None:
    """A package that is another one by its metadata has the expected verdict and a hint."""
    found = {one.code: one for one in module(name).run(package)}

    assert verdict == found[code].verdict
    assert found[code].hint


def test_every_check_has_its_sabotage() -> None:
    """A check that no test has seen fail is not finished."""
    assert {*SABOTAGE, *METADATA, "every_device", "host_allocator"} == set(NAMES)
    assert len(NAMES) >= 8


def test_checks_without_device_are_skipped_with_reason() -> None:
    """Without a TPU those checks are skipped with their reason, and the others run."""
    needing = {name for name in NAMES if module(name).NEEDS.items() >= FOR_A_TPU.items()}

    assert {"accelerator_visible", "googles_package", "versions_in_range"} == set(NAMES) - needing


def test_tcmalloc_is_advice_and_no_failure(tmp_path: Path) -> None:
    """A warning with the command, or the library that was found; the one on disk is named."""
    check = module("host_allocator")
    (missing,), (loaded,) = check.run(NO_TCMALLOC), check.run(TCMALLOC)
    library = tmp_path / "usr/lib/libtcmalloc_minimal.so.4"
    library.parent.mkdir(parents=True)
    library.write_text("")
    (installed,) = check.run(NO_TCMALLOC)

    assert ("warn", "ok", "warn") == (missing.verdict, loaded.verdict, installed.verdict)
    assert "apt-get install" in missing.hint
    assert "libtcmalloc_minimal.so.4.5.9" == loaded.found
    assert "`LD_PRELOAD=/usr/lib/libtcmalloc_minimal.so.4 python ...`" == installed.hint


def test_limits_are_those_of_the_wheel() -> None:
    """Upper and lower bounds, local versions, and an operator that is not understood."""
    wheel = module("_wheel")
    limits = wheel.requirement(Package(), "torch")

    assert ">=2.9.0,<=2.15.0" == limits
    assert [True, True, False, False] == [
        wheel.lies_within(version, limits) for version in ("2.9.0+cu128", "2.15", "2.15.1", "2.8.0")
    ]
    assert wheel.lies_within("3.12.1", ">3.11,<4,!=3.13,==3.12.1")
    with pytest.raises(ValueError, match="not understood"):
        wheel.lies_within("1.0", "~=1.0")
