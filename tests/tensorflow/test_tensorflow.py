"""Every TensorFlow check passes on 8 logical CPU devices, and fails when one function is broken.

A lane of its own: `.ci/run tensorflow` runs it in a Python with tensorflow-cpu. None of it was
tried on a TPU.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow", reason="This Python has no TensorFlow; the lane's has.")

from tests.support import judging  # noqa: E402  nothing of it without TensorFlow
from tests.tensorflow.tf_sabotage import SABOTAGE  # noqa: E402
from tpustarter.probe import adapters  # noqa: E402
from tpustarter.probe.target import Target, set_target, target  # noqa: E402

CHECKS = judging.checks_of("tensorflow")
ASKED = Target("cpu", judging.DEVICES, virtual=True)


@pytest.fixture(autouse=True)
def _asked() -> Iterator[None]:
    before = target()
    set_target(ASKED)
    adapters.read_configuration("tensorflow")  # which makes the logical devices, as a run does
    yield
    set_target(before)


def test_every_check_has_a_sabotage() -> None:
    """A check without one is not finished."""
    assert sorted(SABOTAGE) == sorted(CHECKS)
    assert not [name for name, check in CHECKS.items() if check.broken]
    assert len(CHECKS) >= 12


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_a_check_passes_and_leaves_no_trace(name: str) -> None:
    """The settings are as it met them."""
    before = adapters.read_configuration("tensorflow")
    results = judging.findings(judging.module_of("tensorflow", name))
    after = adapters.read_configuration("tensorflow")

    assert judging.is_sound(results), results
    assert judging.judged_codes(results) <= judging.broken_codes(SABOTAGE[name])
    assert before == {key: value for key, value in after.items() if key in before}


@pytest.mark.parametrize(("name", "breaks", "codes"), judging.cases(SABOTAGE))
def test_a_check_fails_under_its_sabotage(
    name: str, breaks: judging.Break, codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim can be seen to be false, and nothing else seems to be."""
    module = judging.module_of("tensorflow", name)
    breaks(monkeypatch, module)
    results = judging.findings(module)

    assert judging.failed_with_hints(results), results
    assert codes == judging.failed_codes(results)


@pytest.mark.parametrize(
    "name", ["checkpoint", "exact_evaluation", "input_sharding", "optimizer_step"]
)
def test_a_check_takes_any_strategy(name: str) -> None:
    """The same body runs on one device, as it does on those of a TPU."""
    module = judging.module_of("tensorflow", name)
    found = [one.verdict for one in module.run(tf.distribute.OneDeviceStrategy("/cpu:0"))]

    assert "ok" in found
    assert "fail" not in found


def test_strategy_on_tpu_has_chips_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver gets `local`, and the TPU is initialised once, before the strategy."""
    calls: list[tuple[Any, ...]] = []
    strategy = importlib.import_module("tpustarter.checks.tensorflow._strategy")
    monkeypatch.setattr(strategy, "target", lambda: Target("tpu", 8, "v5e"))
    for owner, name in (
        (tf.distribute.cluster_resolver, "TPUClusterResolver"),
        (tf.config, "experimental_connect_to_cluster"),
        (tf.tpu.experimental, "initialize_tpu_system"),
        (tf.distribute, "TPUStrategy"),
    ):
        monkeypatch.setattr(
            owner, name, lambda *given, name=name, **named: calls.append((name, given, named))
        )
    for name in ("on_all_devices", "initialised"):  # this process keeps its own: two would clash
        monkeypatch.setattr(strategy, name, functools.cache(getattr(strategy, name).__wrapped__))
    strategy.on_all_devices()
    strategy.on_all_devices()

    assert ("TPUClusterResolver", (), {"tpu": "local"}) == calls[0]
    assert [
        "TPUClusterResolver",
        "experimental_connect_to_cluster",
        "initialize_tpu_system",
        "TPUStrategy",
    ] == [name for name, _, _ in calls]


def test_probe_reports_logical_devices() -> None:
    """The probe reports as many logical devices as were requested, and calls none a TPU."""
    assert {"platform": "cpu", "kind": "cpu", "count": 8, "virtual": True} == adapters.read_devices(
        "tensorflow"
    )


@pytest.mark.parametrize(("generation", "profile"), [("v5e", "tensorflow"), ("tpu7x", "keras")])
def test_build_without_tpu_support_fails_on_tpu(
    generation: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commonest mistake: `pip install tensorflow` on a TPU VM. No build runs on TPU7x."""
    module = judging.module_of("tensorflow", "package")
    monkeypatch.setattr(module, "target", lambda: Target("tpu", 8, generation))
    failed: dict[str, Any] = {
        one["code"]: one for one in judging.findings(module) if one["verdict"] == "fail"
    }

    assert ["TF-PACKAGE-TPU"] == [*failed]
    assert failed["TF-PACKAGE-TPU"]["name"].startswith("tensorflow")
    assert f"tpustarter setup {profile}" in failed["TF-PACKAGE-TPU"]["hint"]
    assert "CPU" == tf.config.list_logical_devices()[0].device_type


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [("grpc://10.0.0.2:8470", ["warn"]), ("my-tpu", ["warn"]), ("", ["warn"]), ("local", [])],
)
def test_variable_naming_another_tpu_is_reported(
    name: str, verdicts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google's tutorials set it to `local`, which is right on a TPU VM."""
    monkeypatch.setenv("TPU_NAME", name)
    found = judging.findings(judging.module_of("tensorflow", "local_resolver"))
    told = [one for one in found if one["code"] == "TF-RESOLVER-NAMED"]

    assert verdicts == [one["verdict"] for one in told]
    assert all("unset TPU_NAME" in one["hint"] for one in told)


def test_without_weights_the_padded_metric_is_another() -> None:
    """Without weights, padding changes the evaluated metric by more than 0.05."""
    found = {
        one["code"]: one
        for one in judging.findings(judging.module_of("tensorflow", "exact_evaluation"))
    }

    assert found["TF-EXACT-METRIC"]["found"] == found["TF-EXACT-METRIC"]["expected"]
    assert abs(found["TF-EXACT-UNWEIGHTED"]["found"] - found["TF-EXACT-METRIC"]["found"]) > 0.05
