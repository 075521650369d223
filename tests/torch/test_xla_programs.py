"""The PyTorch/XLA checks of execution, training and files, each with something broken."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import torch_xla

from tests.torch.xla_sabotage_programs import SABOTAGE


def module(name: str) -> ModuleType:
    """Return a check or shared code of the PyTorch/XLA checks."""
    return importlib.import_module(f"tpustarter.checks.torch_xla.{name}")


def failed(name: str) -> dict[tuple[str, str | None], Any]:
    """Run a check and return what was found by each failure, by its code and entity."""
    return {
        (finding.code, finding.entity): finding.found
        for finding in module(name).run()
        if finding.verdict == "fail"
    }


# counters


def test_execution_running_after_sync_is_counted() -> None:
    """Counting waits for the device, which `torch_xla.sync()` does not."""
    counters = module("_counters")
    x = torch.ones(300, 300).to(torch_xla.device())

    def steps() -> None:
        y = x
        for _ in range(4):
            y = torch.tanh(y @ x)
            torch_xla.sync()

    counters.finish()

    assert counters.counted(steps)[1][counters.EXECUTED] == 4


def test_reading_one_number_is_no_fallback() -> None:
    """`.item()` is counted like a fallback, and computes nothing on the host."""
    counters = module("_counters")
    pending = torch.ones(3).to(torch_xla.device()) + 1
    _, counts = counters.counted(pending[0].item)

    assert counts[counters.READ] == 1
    assert counters.fallbacks(counts) == ""


# the checks that share a process


def test_early_sync_in_chain_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that comes too early in a chain is found, though the values are right."""
    SABOTAGE["lazy_execution"](monkeypatch, module("lazy_execution"))

    assert failed("lazy_execution") == {("XLA-LAZY-BEFORE", None): 1}


def test_the_operation_that_falls_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one operation of eighteen that falls back to the CPU is named by its counter."""
    SABOTAGE["cpu_fallbacks"](monkeypatch, module("cpu_fallbacks"))

    assert failed("cpu_fallbacks") == {
        ("XLA-FALLBACK-NONE", None): 17,
        ("XLA-FALLBACK-NONE", "operation:lgamma"): "aten::lgamma",
    }


def test_each_new_shape_is_one_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five of six lengths come after the first step."""
    monkeypatch.setattr(module("recompilation"), "lengths", lambda: [2, 4, 6, 8, 10, 12])

    assert failed("recompilation")["XLA-COMPILE-SAME", None] == 5


def test_loss_read_in_each_step_is_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve where two were to be logged."""
    SABOTAGE["item_in_loop"](monkeypatch, module("item_in_loop"))

    assert failed("item_in_loop") == {("XLA-ITEM-LOOP", None): 12}


def test_the_batch_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one, of two rows, in both epochs."""
    SABOTAGE["input_pipeline"](monkeypatch, module("input_pipeline"))

    assert failed("input_pipeline")["XLA-INPUT-BATCHES", "batch:9"] == "missing"


def test_batches_in_another_order_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches in another order are found, though the middle one is in its place."""
    check = module("input_pipeline")
    honest = check.on_device
    monkeypatch.setattr(check, "on_device", lambda loader, to: honest([*loader][::-1], to))

    assert failed("input_pipeline")["XLA-INPUT-BATCHES", "batch:0"] == "[36, 37]"


def test_checkpoint_without_momentum_changes_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameters are the same, and the next step is not."""
    check = module("checkpoint")
    honest = check.saved_and_loaded

    def forgets(save: Any, state: Any) -> Any:
        loaded, place = honest(save, state)
        loaded["optimizer"]["state"] = {}
        return loaded, place

    monkeypatch.setattr(check, "saved_and_loaded", forgets)
    codes = {code for code, _ in failed("checkpoint")}

    assert codes == {"XLA-CHECKPOINT-NEXT"}


# the training step


def rounded(x: np.ndarray) -> np.ndarray:
    """Return numbers as bfloat16 holds them."""
    return torch.from_numpy(np.asarray(x, np.float32)).bfloat16().float().numpy()


@pytest.mark.parametrize("devices", [1, 4, 8])
def test_step_is_exact_for_any_product_rounding(devices: int) -> None:
    """Every factor of every product is a bfloat16 number, so that one pass of the MXU is exact."""
    training = module("_training")
    x, y = (part.numpy() for part in training.batch(4 * devices))
    model = training.Model()
    w1, b1, w2 = (parameter.detach().numpy() for parameter in model.parameters())
    hidden = np.maximum(x @ w1.T + b1, 0)
    error = 2 * (hidden @ w2.T - y) / y.size
    back = (error @ w2) * (hidden > 0)
    gradients = {"first.weight": back.T @ x, "first.bias": back.sum(0)}
    gradients["second.weight"] = error.T @ hidden

    assert all((rounded(part) == part).all() for part in (x, w1, hidden, w2, error, back))
    _, expected = training.reference(*map(torch.from_numpy, (x, y)))
    for name, before in zip(gradients, (w1, b1, w2), strict=True):
        assert (expected[name] == before - training.RATE / 16 * gradients[name]).all()


# sharding


def test_rows_of_another_device_are_named() -> None:
    """Two devices that hold each other's rows."""
    spmd, x = module("_spmd"), np.arange(8.0).reshape(4, 2)
    lost = spmd.rows_lost({"device:0": x[2:], "device:1": x[:2]}, x)

    assert lost == dict.fromkeys(("device:0", "device:1"), "4 of 4 numbers wrong")


def test_a_shard_of_another_size_is_named() -> None:
    """A device that holds everything where a shard was expected."""
    spmd, x = module("_spmd"), np.arange(8.0).reshape(4, 2)

    assert spmd.described(x, x[:2]) == "shape [4, 2], expected [2, 2]"


# debug variables


def test_debug_program_leaves_out_user_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A variable of the user's would be taken for one of the check's."""
    monkeypatch.setenv("XLA_USE_BF16", "1")
    monkeypatch.setenv("XLA_FLAGS", "--kept=1")
    source = "import json, os; print(json.dumps(dict(os.environ)))"
    facts = module("_debug_runs").facts_of(source, {"XLA_METRICS_FILE": "{folder}/m"}, tmp_path)

    assert "XLA_USE_BF16" not in facts
    assert (facts["XLA_FLAGS"], facts["XLA_METRICS_FILE"]) == ("--kept=1", f"{tmp_path}/m")


def test_a_debug_program_that_breaks_is_an_error(tmp_path: Any) -> None:
    """A process that ends badly is no finding about a variable."""
    with pytest.raises(RuntimeError, match="ended with 3 under"):
        module("_debug_runs").facts_of("raise SystemExit(3)", {"XLA_IR_DEBUG": "1"}, tmp_path)
