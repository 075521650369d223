"""Every PyTorch/XLA check passes on CPU devices, and fails when one function of it is broken.

A lane of its own: `.ci/run torch` runs it in a Python with torch and torch_xla, on 4 CPU devices.
None of it was tried on a TPU.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import judging
from tests.torch.in_process import DEVICES, run_check
from tpustarter import checks
from tpustarter.core import content
from tpustarter.probe import adapters
from tpustarter.probe.target import Target, set_target, target

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]

FOLDER = Path(next(iter(checks.__path__)))
CHECKS = {
    check.path.stem: check
    for check in content.read_checks(FOLDER)
    if check.framework == "torch_xla"
}
TABLES = sorted(path.stem for path in Path(__file__).parent.glob("xla_sabotage_*.py"))
SABOTAGE: dict[str, tuple[str, Break]] = {
    name: (f"tests.torch.{table}:{name}", breaks)
    for table in TABLES
    for name, breaks in importlib.import_module(f"tests.torch.{table}").SABOTAGE.items()
}
ALONE = sorted(name for name, check in CHECKS.items() if check.own_process)
TOGETHER = sorted(set(CHECKS) - set(ALONE))


@pytest.fixture(autouse=True)
def _asked() -> Iterator[None]:
    before = target()
    set_target(Target("cpu", DEVICES, virtual=DEVICES > 1))
    yield
    set_target(before)


def findings(name: str) -> list[dict[str, Any]]:
    """Run a check in this process and return what it found."""
    return judging.findings(judging.module_of("torch_xla", name))


def test_every_check_has_a_sabotage() -> None:
    """A check without one is not finished."""
    assert sorted(SABOTAGE) == sorted(CHECKS)
    assert not [name for name, check in CHECKS.items() if check.broken]


KNOWN_LOSSES = ("XLA-CONVERT-LIMITED", "XLA-PROMOTION-KNOWN", "XLA-COPIES-TIED")
"""What PyTorch/XLA 2.9 loses silently on every device, so that these are warnings here too."""


@pytest.mark.parametrize("name", TOGETHER)
def test_a_check_passes_and_leaves_no_trace(name: str) -> None:
    """The dtype, precision, random state and environment are as it met them."""
    before = adapters.read_configuration("torch_xla")
    results = [one for one in findings(name) if one["code"] not in KNOWN_LOSSES]

    assert judging.is_sound(results), results
    assert adapters.read_configuration("torch_xla") == before


@pytest.mark.parametrize("name", TOGETHER)
def test_a_check_fails_under_its_sabotage(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim can be seen to be false."""
    module = importlib.import_module(f"tpustarter.checks.torch_xla.{name}")
    SABOTAGE[name][1](monkeypatch, module)
    results = findings(name)

    assert judging.failed_with_hints(results), results


@pytest.mark.parametrize("name", ALONE)
def test_check_passes_in_separate_process(name: str) -> None:
    """The check passes in its own process, which keeps the effects of SPMD and `launch` there."""
    results = run_check(f"torch_xla.{name}")

    assert judging.is_sound(results), results


@pytest.mark.parametrize("name", ALONE)
def test_check_in_separate_process_fails_under_sabotage(name: str) -> None:
    """The claim can be seen to be false there too."""
    results = run_check(f"torch_xla.{name}", SABOTAGE[name][0])

    assert judging.failed_with_hints(results), results
