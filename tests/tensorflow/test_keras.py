"""Every Keras check passes with JAX on 8 virtual CPU devices, and fails when it is broken.

A lane of its own: `.ci/run tensorflow` runs it in a Python with Keras and JAX, without TensorFlow.
None of it was tried on a TPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

if os.environ.get("KERAS_BACKEND") != "jax":
    pytest.skip("Keras is asked for JAX by KERAS_BACKEND=jax alone.", allow_module_level=True)
pytest.importorskip("keras", reason="This Python has no Keras with JAX; the lane's has.")

from tests.support import judging
from tests.tensorflow.keras_sabotage import SABOTAGE
from tpustarter.probe import adapters
from tpustarter.probe.target import Target, set_target, target

pytestmark = [
    # Keras 3.15 reads its own variables in the way of NumPy 1.
    pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy"),
]

CHECKS = judging.checks_of("keras")


@pytest.fixture(autouse=True)
def _asked() -> Iterator[None]:
    before = target()
    set_target(Target("cpu", judging.DEVICES, virtual=True))
    yield
    set_target(before)


def test_every_check_has_a_sabotage() -> None:
    """A check without one is not finished."""
    assert sorted(SABOTAGE) == sorted(CHECKS)
    assert not [name for name, check in CHECKS.items() if check.broken]
    assert len(CHECKS) >= 5


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_a_check_passes_and_leaves_no_trace(name: str) -> None:
    """Backend, types, policy, distribution and JAX's settings are as it met them."""
    before = adapters.read_configuration("keras")
    results = judging.findings(judging.module_of("keras", name))

    assert judging.is_sound(results), results
    assert judging.judged_codes(results) <= judging.broken_codes(SABOTAGE[name])
    assert before == adapters.read_configuration("keras")


@pytest.mark.parametrize(("name", "breaks", "codes"), judging.cases(SABOTAGE))
def test_a_check_fails_under_its_sabotage(
    name: str, breaks: judging.Break, codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim can be seen to be false, and nothing else seems to be."""
    module = judging.module_of("keras", name)
    breaks(monkeypatch, module)
    results = judging.findings(module)

    assert judging.failed_with_hints(results), results
    assert codes == judging.failed_codes(results)


def test_probe_reports_virtual_devices() -> None:
    """Those of JAX, which computes for Keras."""
    told = adapters.read_devices("keras")

    assert told is not None
    assert {"platform": "cpu", "kind": "cpu", "count": 8, "virtual": True} == told
