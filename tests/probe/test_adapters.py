"""The calls that each adapter makes to its framework, with stubs in place of the frameworks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tpustarter.machine import frameworks
from tpustarter.probe import adapters
from tpustarter.probe.lesson import block_runner
from tpustarter.probe.target import Target, set_target, target


@pytest.mark.parametrize(
    ("framework", "platform", "devices", "env", "expected"),
    [
        ("jax", "tpu", 8, {}, {"JAX_PLATFORMS": "tpu,cpu"}),
        ("jax", "cpu", 4, {}, {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}),
        ("torch_xla", "tpu", 8, {}, {"PJRT_DEVICE": "TPU"}),
        (
            "torch_xla",
            "cpu",
            4,
            {},
            {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "4", "XLA_THREAD_POOL_SIZE": "4"},
        ),
        ("torch_xla", "tpu", 8, {"PJRT_DEVICE": "CPU"}, {"PJRT_DEVICE": "CPU"}),
        ("torch_xla", "tpu", 8, {"PJRT_DEVICE": " "}, {"PJRT_DEVICE": "TPU"}),
        ("torch_tpu", "tpu", 8, {}, {}),
        ("tensorflow", "cpu", 8, {}, {"KERAS_BACKEND": "tensorflow"}),
        (
            "keras",
            "cpu",
            4,
            {"KERAS_BACKEND": "torch"},
            {"KERAS_BACKEND": "torch", "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"},
        ),
        ("host", "tpu", 8, {}, {}),
    ],
)
def test_platform_is_set_and_user_choice_respected(
    framework: str, platform: str, devices: int, env: Mapping[str, str], expected: dict[str, str]
) -> None:
    """The same devices for every framework of a run."""
    assert frameworks.platform_variables(framework, platform, devices, env) == expected


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ({"XLA_USE_BF16": "1", "PT_XLA_DEBUG_LEVEL": "2"}, ("PT_XLA_DEBUG_LEVEL", "XLA_USE_BF16")),
        ({"PJRT_DEVICE": "CPU", "XLA_THREAD_POOL_SIZE": "4", "CPU_NUM_DEVICES": "2"}, ()),
        ({"XRT_TPU_CONFIG": "localservice;0;localhost:51011"}, ("XRT_TPU_CONFIG",)),
    ],
)
def test_pytorch_xla_settings_are_variables_that_change_results(
    env: dict[str, str], names: tuple[str, ...]
) -> None:
    """PyTorch/XLA's variables that change results, such as XLA_USE_BF16, are listed as settings."""
    assert frameworks.list_behaviour_variables("torch_xla", env) == names


def test_terraforms_variables_are_no_settings_of_tensorflow() -> None:
    """Both programs begin theirs with TF_."""
    env = {"TF_CLI_CONFIG_FILE": "x", "TF_VAR_zone": "y", "TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}

    assert ("TF_XLA_FLAGS",) == frameworks.list_behaviour_variables("tensorflow", env)


def test_keras_without_jax_is_not_checked() -> None:
    """TensorFlow brings Keras along, and these checks are about Keras on JAX."""
    assert ["jax"] == frameworks.list_missing_frameworks(
        "keras", {"keras": "3.15.1", "tensorflow": "2.20.0"}
    )
    assert [] == frameworks.list_missing_frameworks("keras", {"keras": "3.15.1", "jax": "0.10.2"})
    assert [] == frameworks.list_missing_frameworks("tensorflow", {"tensorflow": "2.20.0"})


UNDEFINED = "_XLAC.cpython-311.so: undefined symbol: _ZNK3c1010TensorImpl"


@pytest.mark.parametrize(
    ("framework", "words", "told"),
    [
        ("torch_xla", UNDEFINED, True),
        ("torch_xla", "No module named 'torch_xla'", False),
        ("jax", UNDEFINED, False),
    ],
)
def test_mismatched_pair_is_named_by_missing_symbol(framework: str, words: str, told: bool) -> None:
    """A missing symbol is explained as mismatched packages; any other error keeps its own text."""
    reason = adapters.explain_import_failure(framework, ImportError(words))

    assert (reason is not None) == told
    if reason:
        assert "were not built for each other: torch lacks _ZNK3c1010TensorImpl" in reason


@pytest.mark.parametrize(
    ("variable", "counts"),
    [("TF2_BEHAVIOR", False), ("TPU_LOG_DIR", False), ("JAX_ENABLE_X64", True), ("HOME", True)],
)
def test_runtime_settings_are_no_trace_of_check(
    variable: str, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keras on JAX imports TensorFlow when it saves a model beside one."""
    before = adapters.read_configuration("host")
    monkeypatch.setenv(variable, "another value")

    assert counts == (before != adapters.read_configuration("host"))


def test_without_a_tpu_torch_tpu_has_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another accelerator is none either, so nothing is ever reported as verified there."""
    for available, kind in ((False, "tpu"), (True, "cuda")):
        accelerator = SimpleNamespace(
            is_available=lambda value=available: value,
            current_accelerator=lambda value=kind: SimpleNamespace(type=value),
        )
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(accelerator=accelerator))

        assert adapters.read_devices("torch_tpu") is None


def test_tensorflow_without_tpu_reports_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain TensorFlow on a TPU VM computes on the CPU, and nothing else may be reported."""
    devices = {"CPU": [SimpleNamespace(device_type="CPU")] * 2}
    config = SimpleNamespace(list_logical_devices=lambda kind: devices.get(kind, []))
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=config))
    before = target()
    try:
        set_target(Target("tpu", 8, "v5e"))
        told = adapters.read_devices("tensorflow")
        devices["TPU"] = [SimpleNamespace(device_type="TPU")] * 8
        on_tpu = adapters.read_devices("tensorflow")
    finally:
        set_target(before)

    assert {"platform": "cpu", "kind": "cpu", "count": 2, "virtual": False} == told
    assert {"platform": "tpu", "kind": "v5e", "count": 8, "virtual": False} == on_tpu


@pytest.mark.parametrize(("framework", "made"), [("tensorflow", 8), ("jax", 0), (None, 0)])
def test_tensorflow_lesson_block_gets_requested_devices(
    framework: str | None, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A TensorFlow block gets its number of devices before it runs, as no variable sets it.

    Its threads get a policy under which the iterators of eight devices close without a wait.
    """
    devices: list[str] = []
    policies: list[int] = []
    config = SimpleNamespace(
        set_visible_devices=lambda _, __: None,
        list_physical_devices=lambda kind: [kind],
        LogicalDeviceConfiguration=lambda: "logical",
        set_logical_device_configuration=lambda _, wanted: devices.extend(wanted),
    )
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=config))
    monkeypatch.setattr(adapters, "_tensorflow_is_initialised", lambda: False)
    monkeypatch.setattr(os, "SCHED_BATCH", 3, raising=False)  # only Linux has it
    monkeypatch.setattr(os, "sched_param", lambda priority: priority, raising=False)
    monkeypatch.setattr(
        os, "sched_setscheduler", lambda _, policy, __: policies.append(policy), raising=False
    )
    before = target()
    set_target(Target("cpu", 8, virtual=True))
    try:
        command = {"id": "one", "file": "a lesson", "code": "", "framework": framework}
        monkeypatch.setattr(adapters, "read_started_devices", lambda: None)
        block_runner.run_block(command, lambda _: None)
    finally:
        set_target(before)

    assert ["logical"] * made == devices
    assert [3] * bool(made) == policies


def test_only_cpu_devices_are_ever_called_virtual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only CPU devices are called virtual; a TPU is reported as a TPU."""
    before = target()
    told: list[Any] = []
    set_target(Target("cpu", 8, virtual=True))
    try:
        for platform in ("cpu", "tpu"):
            adapter = adapters.ADAPTERS["jax"]._replace(
                devices=lambda name=platform: (name, "k", 8)
            )
            monkeypatch.setitem(adapters.ADAPTERS, "jax", adapter)
            told.append(adapters.read_devices("jax"))
    finally:
        set_target(before)

    assert [one["virtual"] for one in told] == [True, False]
