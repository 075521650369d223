"""The PyTorch/XLA checks of devices and values on machines and programs of every kind.

No TPU was used: its arithmetic is emulated, and what its runtime says of itself is written here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch_xla import backends

from tests.torch import xla_mxu
from tests.torch.in_process import DEVICES, run_check
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target, target

TPU = Target("tpu", DEVICES, "v5e")

classes: Any = importlib.import_module("tpustarter.checks.jax._precision")
versions: Any = importlib.import_module("tpustarter.checks.host._versions")


def check(name: str) -> Any:
    """Return a check or shared code of the PyTorch/XLA checks."""
    return importlib.import_module(f"tpustarter.checks.torch_xla.{name}")


def findings(name: str, code: str = "") -> list[Finding]:
    """Run a check and return its findings whose code starts with `code`."""
    return [finding for finding in check(name).run() if finding.code.startswith(code)]


def verdict(name: str, code: str) -> tuple[Any, Any]:
    """Run a check and return the verdict and the value of the one finding with this code."""
    [finding] = [finding for finding in findings(name) if finding.code == code]
    return finding.verdict, finding.found


@pytest.fixture(autouse=True)
def _asked() -> Iterator[None]:
    before = target()
    set_target(Target("cpu", DEVICES, virtual=DEVICES > 1))
    yield
    set_target(before)


# devices


def test_requested_tpu_with_used_cpu_fails() -> None:
    """If a TPU was requested and the CPU is used, the check fails."""
    set_target(TPU)
    [finding] = findings("devices_visible", "XLA-DEVICES-PLATFORM")

    assert (finding.verdict, finding.found, finding.expected) == ("fail", "CPU", "TPU")
    assert "PJRT_DEVICE=TPU python -c" in (finding.hint or "")


@pytest.mark.parametrize("name", ["tpu", "GPU", "Cpu"])
def test_a_name_that_is_no_platform_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started: `RuntimeError: No PjRtPlugin registered for: tpu`."""
    monkeypatch.setenv("PJRT_DEVICE", name)
    [finding] = findings("devices_visible")

    assert (finding.verdict, finding.found, finding.expected) == ("fail", name, "CPU")
    assert "`export PJRT_DEVICE=CPU`" in (finding.hint or "")


def test_a_missing_device_fails() -> None:
    """The count is the one this run asked for."""
    set_target(Target("cpu", DEVICES + 1, virtual=True))

    assert verdict("devices_visible", "XLA-DEVICES-COUNT") == ("fail", DEVICES)


def test_the_device_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong device is named by its index in `xla:N`."""
    module, wrong = check("devices_visible"), torch_xla.devices()[-1]
    monkeypatch.setattr(module, "answer", lambda x: 3 * x + 7 + (x.device == wrong))
    failed = [one for one in findings("devices_visible", "XLA-DEVICES-ANSWER") if one.entity]

    assert [one.entity for one in failed] == [f"device:{wrong.index}"]
    assert f"from {wrong}" in str(failed[0].found)


def test_an_answer_from_another_device_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The right numbers from `xla:0` do not show that `xla:1` computes."""
    module, first = check("devices_visible"), torch_xla.devices()[0]
    monkeypatch.setattr(module, "answer", lambda x: (3 * x + 7).cpu().to(first))
    failed = [one for one in findings("devices_visible", "XLA-DEVICES-ANSWER") if one.entity]

    assert len(failed) == DEVICES - 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("TPU v5 lite", "ok"), ("TPU v6 lite", "fail"), ("TPU of tomorrow", "info")],
)
def test_device_kind_is_compared_with_chips(kind: str, expected: str) -> None:
    """The device kind is compared with the chips, and an unknown kind is only reported."""
    finding = check("devices_visible").generation(kind, "v5e")

    assert finding.verdict == expected
    assert bool(finding.hint) == (expected == "fail")


# the runtime


@pytest.mark.parametrize("names", [("XRT_TPU_CONFIG",), ("XRT_TPU_CONFIG", "XRT_WORKERS")])
def test_settings_of_xrt_are_a_warning(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """XRT's settings, without effect since 2.1, are a warning."""
    for name in names:
        monkeypatch.setenv(name, "localservice;0;localhost:51011")
    [finding] = findings("runtime", "XLA-RUNTIME-XRT")

    assert (finding.verdict, finding.found) == ("warn", ", ".join(names))
    assert f"`unset {' '.join(names)}`" in (finding.hint or "")


def torus(count: int) -> list[dict[str, Any]]:
    """Return the attributes that a TPU's runtime gives for `count` devices in a row."""
    return [
        {"name": f"TPU:{index}", "coords": [index, 0, 0], "core_on_chip": 0}
        for index in range(count)
    ]


def test_devices_of_a_tpu_have_a_position_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two devices at one position are one device with two names."""
    set_target(TPU)
    monkeypatch.setattr(xm, "xla_device_kind", lambda *_: "TPU v5 lite")
    sound = {one.code: one.verdict for one in check("runtime").positions(torus(4))}
    twice = [*torus(4)[:3], {**torus(4)[2], "name": "TPU:3"}]
    failed = [one for one in check("runtime").positions(twice) if one.verdict == "fail"]

    assert sound == {"XLA-RUNTIME-KIND": "ok", "XLA-RUNTIME-COORDS": "ok"}
    assert [one.entity for one in failed] == [None, "device:3"]
    assert all(one.hint for one in failed)


def test_two_cores_of_a_chip_have_two_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores of a chip, as on v2, v3 and TPU7x, have two positions."""
    monkeypatch.setattr(xm, "xla_device_kind", lambda *_: "TPU v3")
    cores = [{**one, "core_on_chip": core} for one in torus(2) for core in (0, 1)]
    found = {one.code: one.verdict for one in check("runtime").positions(cores)}

    assert found["XLA-RUNTIME-COORDS"] == "ok"


def test_a_runtime_that_loses_a_device_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that describes fewer devices than there are fails."""
    attributes = xr.global_runtime_device_attributes()
    monkeypatch.setattr(xr, "global_runtime_device_attributes", lambda: attributes[:-1])

    assert verdict("runtime", "XLA-RUNTIME-ATTRIBUTES") == ("fail", DEVICES - 1)


# versions


def packages(libtpu: str | None) -> dict[str, Any]:
    """Return torch_xla 2.9.0, which asks for libtpu 0.0.21, beside another libtpu or none."""
    asks = ('libtpu==0.0.21; extra == "tpu"',)
    found = {"torch-xla": versions.Package("torch-xla", "2.9.0", asks)}
    return found | ({"libtpu": versions.Package("libtpu", libtpu, ())} if libtpu else {})


@pytest.mark.parametrize(
    ("libtpu", "tpu", "expected"),
    [
        ("0.0.21", True, "ok"),
        ("0.0.50.1", True, "warn"),
        ("0.0.50.1", False, "info"),
        (None, False, "info"),
        (None, True, "info"),
    ],
)
def test_libtpu_version_is_judged_only_on_tpu(libtpu: str | None, tpu: bool, expected: str) -> None:
    """Another one than torch_xla asks for aborts on a TPU, and does nothing elsewhere."""
    finding = check("_installed").libtpu(packages(libtpu), on_tpu=tpu)

    assert finding.verdict == expected
    assert bool(finding.hint) == (expected == "warn")
    assert not finding.hint or "torch_xla[tpu]==2.9.0" in finding.hint


def test_another_torch_xla_on_path_is_warning() -> None:
    """A torch_xla on the path that isn't the installed version is a warning."""
    assert check("_installed").imported("2.9.0", "2.8.1").verdict == "warn"
    assert check("_installed").imported("2.9.0", "2.9.0+git1234").verdict == "ok"


@pytest.mark.parametrize(("known", "expected"), [(4, "ok"), (0, "warn")])
def test_chip_unknown_to_torch_xla_is_warning(
    known: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chip that torch_xla doesn't know is a warning, because it would silently use the CPU."""
    module = check("_installed")
    monkeypatch.setattr(module.host, "list_chips", lambda _: [object()] * 4)
    monkeypatch.setattr(module.tpu, "num_available_chips", lambda: known)
    finding = module.chips()

    assert (finding.verdict, finding.found, finding.expected) == (expected, known, 4)
    assert ("torchtpu" in (finding.hint or "")) == (expected == "warn")


def test_the_pair_that_fits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that doesn't match fails, and its hint is the command for one that does."""
    module = check("versions_fit")
    monkeypatch.setattr(module, "versions", lambda: ("2.8.0+cpu", "2.9.0"))
    [finding] = findings("versions_fit", "XLA-VERSIONS-PAIR")

    assert (finding.verdict, finding.found, finding.expected) == ("fail", "2.8", "2.9")
    assert "torch==2.9.* torch_xla==2.9.0" in (finding.hint or "").replace("'", "")


# precision


def as_a_tpu_does(
    patch: pytest.MonkeyPatch, rounding: Callable[..., Any] = xla_mxu.nearest
) -> None:
    """Multiply in as many passes as a TPU makes at the precision in force."""

    def multiply(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return xla_mxu.passes(xla_mxu.PASSES[backends.get_mat_mul_precision()], rounding)(x, y)

    patch.setattr(check("matmul_precision"), "multiply", multiply)
    set_target(TPU)


@pytest.mark.parametrize("rounding", [xla_mxu.nearest, xla_mxu.chopped])
def test_tpu_arithmetic_matches_documentation(
    rounding: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emulated TPU arithmetic matches the documentation: one, three and six passes."""
    as_a_tpu_does(monkeypatch, rounding)
    found = {one.code: (one.verdict, one.found) for one in findings("matmul_precision")}

    assert found["XLA-PRECISION-DEFAULT"] == ("ok", "one bfloat16 pass")
    assert found["XLA-PRECISION-HIGH"] == ("ok", "three bfloat16 passes")
    assert found["XLA-PRECISION-HIGHEST"] == ("ok", "float32")
    assert {verdict for verdict, _ in found.values()} <= {"ok", "info"}


def test_product_seen_on_tpu_is_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product seen on a TPU, of jax issue 9973, is reproduced with a hint."""
    as_a_tpu_does(monkeypatch)

    assert verdict("matmul_precision", "XLA-PRECISION-9973") == ("ok", "0.17405128")
    [error] = findings("matmul_precision", "XLA-PRECISION-DEFAULT-ERROR")
    assert "set_mat_mul_precision('highest')" in (error.hint or "")


@pytest.mark.parametrize(
    ("passes", "code"), [((1, 1, 6), "HIGH"), ((1, 3, 1), "HIGHEST"), ((1, 3, 3), "HIGHEST")]
)
def test_a_pass_too_few_on_a_tpu_fails(
    passes: tuple[int, int, int], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A precision with a pass too few on a TPU fails, and no other one does."""
    as_a_tpu_does(monkeypatch)
    monkeypatch.setattr(xla_mxu, "PASSES", dict(zip(xla_mxu.PASSES, passes, strict=True)))
    failed = {one.code for one in findings("matmul_precision") if one.verdict == "fail"}

    assert failed == {f"XLA-PRECISION-{code}"}


def test_excess_precision_is_information(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody asked the compiler for it: no failure, and the way to find out who."""
    set_target(TPU)
    [finding] = [one for one in findings("matmul_precision") if one.code == "XLA-PRECISION-DEFAULT"]

    assert (finding.verdict, finding.found) == ("info", "float32")
    assert "LIBTPU_INIT" in (finding.hint or "")


def test_a_lost_column_is_no_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong numbers fail whatever was asked for."""

    def multiply(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x @ y) * (torch.arange(y.shape[1], device=y.device) > 0)

    monkeypatch.setattr(check("matmul_precision"), "multiply", multiply)
    failed = {one.code for one in findings("matmul_precision") if one.verdict == "fail"}

    assert {"XLA-PRECISION-DEFAULT", "XLA-PRECISION-HIGH", "XLA-PRECISION-HIGHEST"} <= failed


def test_a_setting_that_the_graph_ignores_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A precision setting that doesn't reach the compiled graph fails."""
    monkeypatch.setattr(backends, "set_mat_mul_precision", lambda _: None)
    failed = {one.code for one in findings("matmul_precision") if one.verdict == "fail"}

    assert failed == {"XLA-PRECISION-HIGH-HLO", "XLA-PRECISION-HIGHEST-HLO"}


def test_the_users_precision_is_kept() -> None:
    """A check leaves the setting as it met it, whatever that was."""
    before = backends.get_mat_mul_precision()
    try:
        backends.set_mat_mul_precision("high")
        setting = verdict("matmul_precision", "XLA-PRECISION-SETTING")

        assert (setting, backends.get_mat_mul_precision()) == (("info", "high"), "high")
    finally:
        backends.set_mat_mul_precision(before)


# conversion, views and narrowing


def broken(name: str, function: str, patch: pytest.MonkeyPatch, new: Any) -> set[str]:
    """Return the codes that fail where one function of a check is another one."""
    patch.setattr(check(name), function, new)
    return {one.code for one in findings(name) if one.verdict == "fail"}


def test_a_tensor_in_another_order_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor whose elements arrive in another order is named by its kind of shape."""

    def to_xla(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        if tensor.dim() == 2 and tensor.stride() == (1, tensor.shape[0]):
            tensor = tensor.T.reshape(tensor.shape)
        return tensor.to(device)

    monkeypatch.setattr(check("array_conversion"), "to_xla", to_xla)
    failed = [one.entity for one in findings("array_conversion", "XLA-CONVERT-") if one.entity]

    assert [entity for entity in failed if entity.startswith("shape:")] == ["shape:transposed"]


def test_refused_core_type_is_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused core type is an error; only optional types may be refused."""

    def to_xla(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        if tensor.dtype == torch.bfloat16:
            raise RuntimeError("Type not supported: BFloat16")
        return tensor.to(device)

    monkeypatch.setattr(check("array_conversion"), "to_xla", to_xla)

    with pytest.raises(RuntimeError, match="BFloat16"):
        findings("array_conversion")


def test_float64_that_a_tpu_rounds_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float64 that is rounded is no failure on a TPU, but is one on a CPU."""

    def to_xla(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        rounded = tensor.float().double() if tensor.dtype == torch.float64 else tensor
        return rounded.to(device)

    assert broken("array_conversion", "to_xla", monkeypatch, to_xla) == {"XLA-CONVERT-DTYPE"}
    set_target(TPU)
    assert [one for one in findings("array_conversion") if one.verdict == "fail"] == []


def test_xla_tensor_converted_to_numpy_implicitly_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """`np.asarray` of it is documented to be refused."""
    failed = broken("array_conversion", "refused", monkeypatch, lambda _: "ndarray")

    assert failed == {"XLA-CONVERT-REFUSED"}


def test_a_copy_that_is_a_view_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other direction of the claim."""
    module = check("views_and_copies")
    monkeypatch.setattr(module, "COPIES", {"x.clone()": lambda x: x[:]})
    failed = {one.code for one in findings("views_and_copies") if one.verdict == "fail"}

    assert failed == {"XLA-COPIES-APART"}


def test_float64_products_are_exact_on_a_cpu_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Float64 products must be exact on a CPU; on a TPU an inexact one is a warning."""

    def to_xla(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        rounded = tensor * (1 + 2**-40) if tensor.dtype == torch.float64 else tensor
        return rounded.to(device)

    assert broken("narrowing", "to_xla", monkeypatch, to_xla) == {"XLA-NARROWING-FLOAT64"}
    set_target(TPU)
    assert verdict("narrowing", "XLA-NARROWING-FLOAT64")[0] == "warn"


@pytest.mark.parametrize(
    ("name", "variable", "code"),
    [
        ("narrowing", "XLA_USE_32BIT_LONG", "XLA-NARROWING-SET"),
        ("matmul_precision", "XLA_USE_BF16", "XLA-PRECISION-HIGHEST"),
    ],
)
def test_a_variable_that_narrows_is_a_warning(
    name: str, variable: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that narrows types is a warning, because `tensor.dtype` doesn't show it."""
    monkeypatch.setenv(variable, "1")
    results = {one["code"]: one for one in run_check(f"torch_xla.{name}")}

    assert (results[code]["verdict"], variable in results[code]["hint"]) == ("warn", True)


def test_unexpected_promotion_is_named_with_dtypes() -> None:
    """An unexpected promotion is named by its types, and known ones are warnings."""
    shared = check("_promotion")
    text = shared.first_difference(torch.maximum, torch_xla.devices()[0], [("uint8", "int8")])
    known = findings("type_promotion", "XLA-PROMOTION-KNOWN")

    assert text == "1 of 1: uint8, int8 gives uint8 (u8 in the HLO), expected int16"
    assert [(one.verdict, bool(one.hint)) for one in known] == [("warn", True)] * 3


@pytest.mark.parametrize(
    ("name", "code", "entity"),
    [
        ("array_conversion", "XLA-CONVERT-LIMITED", "dtype:complex128"),
        ("views_and_copies", "XLA-COPIES-TIED", None),
    ],
)
def test_silent_loss_is_a_warning(name: str, code: str, entity: str | None) -> None:
    """A silent loss, of half a number or of tied weights, is a warning with a hint."""
    lost = [one for one in findings(name, code) if one.entity == entity]

    assert [("warn", True)] == [(one.verdict, bool(one.hint)) for one in lost]


# random numbers and autocast


def test_one_seed_for_all_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another seed must give other numbers."""
    module = check("random_seeds")

    def seeded(_: int, device: torch.device) -> torch.Tensor:
        torch_xla.manual_seed(1, device)
        return module.draw(device)

    assert broken("random_seeds", "seeded", monkeypatch, seeded) == {"XLA-SEEDS-DIFFER"}


def test_a_state_that_is_not_set_back_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that isn't restored fails, because a run couldn't be resumed."""
    module: ModuleType = check("random_seeds")
    monkeypatch.setattr(module.xm, "set_rng_state", lambda *_: None)
    failed = {one.code for one in findings("random_seeds") if one.verdict == "fail"}

    assert "XLA-SEEDS-STATE" in failed


def test_the_users_random_state_is_kept() -> None:
    """The user's random state is kept on every device."""
    states = [xm.get_rng_state(str(device)) for device in torch_xla.devices()]
    findings("random_seeds")

    assert [xm.get_rng_state(str(device)) for device in torch_xla.devices()] == states


def test_weights_that_autocast_halves_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixed precision keeps float32 weights, so that small updates are not lost."""
    shared = check("_autocast")
    layer = shared.layer
    monkeypatch.setattr(shared, "layer", lambda device: layer(device).to(torch.bfloat16))
    failed = {one.code for one in findings("bfloat16_autocast") if one.verdict == "fail"}

    assert failed == {"XLA-AUTOCAST-WEIGHTS", "XLA-AUTOCAST-GRADIENTS"}
