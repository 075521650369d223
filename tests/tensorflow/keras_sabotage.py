"""The sabotage that makes each Keras check fail."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import keras
import numpy as np
import pytest

from tests.support.judging import Sabotage
from tpustarter.probe.target import Target


def numpy_computes(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Replace the result by what the NumPy backend would give."""
    patch.setattr(module, "backend", lambda: "numpy")
    patch.setattr(module, "computed", lambda: np.arange(128).sum())


def devices_are_left_out(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Distribute over the first four devices alone."""
    parallel = keras.distribution.DataParallel
    devices = keras.distribution.list_devices()[:4]
    patch.setattr(module, "distribution", lambda: parallel(devices=devices))


def the_policy_is_that_of_bfloat16_alone(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Keep the weights in bfloat16, too."""
    patch.setattr(module, "policy", lambda: "bfloat16")


def half_of_each_step_is_lost(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Go only half of the way by hand."""
    step = module.gradient_step

    def half(model: Any, state: Any, x: Any, y: Any) -> Any:
        (trainable, rest, own), loss = step(model, state, x, y)
        middle = jax.tree.map(lambda new, old: (new + old) / 2, trainable, state[0])
        return (middle, rest, own), loss

    patch.setattr(module, "gradient_step", half)


def padding_counts(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Give the rows that were added the weight of the others."""
    padded = module.padded
    patch.setattr(module, "padded", lambda rows: (padded(rows)[0], padded(rows)[1] * 0 + 1))


def the_file_holds_another_model(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Save a model that has other weights."""

    def saved(made: Any, path: str) -> None:
        module.model().save(path)

    patch.setattr(module, "saved", saved)


def a_sum_is_wrong(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Leave the last number out."""
    patch.setattr(module, "computed", lambda: keras.ops.sum(keras.ops.arange(127)))


def the_loss_is_summed(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Add the losses of the devices where their mean belongs."""
    trained = module.trained

    def summed(x: Any, y: Any) -> Any:
        loss, weights = trained(x, y)
        return jax.device_count() * loss, weights

    patch.setattr(module, "trained", summed)


def rows_are_shuffled(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Take other batches in `fit` than by hand."""
    fitted = module.fitted
    patch.setattr(module, "fitted", lambda model, x, y: fitted(model, x[::-1], y[::-1]))


def nothing_is_rounded(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Compute in float32, too."""
    patch.setattr(module, "policy", lambda: "float32")


def a_device_is_not_listed(patch: pytest.MonkeyPatch, _: ModuleType) -> None:
    """See all devices but the last."""
    devices = keras.distribution.list_devices()
    patch.setattr(keras.distribution, "list_devices", lambda: devices[:-1])


def jax_fell_back_to_the_cpu(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Test a TPU that JAX did not start."""
    patch.setattr(module, "target", lambda: Target("tpu", jax.device_count(), "v5e"))


def steps_are_twice_as_long(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Double the learning rate, for `fit` and by hand alike."""
    fresh = module._model.fresh

    def faster(*given: str) -> Any:
        model = fresh(*given)
        model.optimizer.learning_rate = 2 * model.optimizer.learning_rate
        return model

    patch.setattr(module._model, "fresh", faster)


def the_backend_stays(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Open the model with JAX again, regardless of the environment variable."""
    stays = "import os; os.environ['KERAS_BACKEND'] = 'jax'\n"
    patch.setattr(module, "READER", stays + module.READER)


SABOTAGE: Sabotage = {
    "backend": [
        (numpy_computes, {"KERAS-BACKEND-ARRAY", "KERAS-BACKEND-NAME"}),
        (a_sum_is_wrong, {"KERAS-BACKEND-SUM"}),
        (a_device_is_not_listed, {"KERAS-BACKEND-DEVICES"}),
        (jax_fell_back_to_the_cpu, {"KERAS-BACKEND-PLATFORM"}),
    ],
    "every_device": [
        (devices_are_left_out, {"KERAS-EVERY-DEVICES", "KERAS-EVERY-ROWS", "KERAS-EVERY-WEIGHTS"}),
        (the_loss_is_summed, {"KERAS-EVERY-LOSS"}),
    ],
    "exact_evaluation": [
        (padding_counts, {"KERAS-EXACT-METRICS"}),
    ],
    "fit_equals_step": [
        (half_of_each_step_is_lost, {"KERAS-FIT-SAME"}),
        (rows_are_shuffled, {"KERAS-FIT-SAME"}),
        (steps_are_twice_as_long, {"KERAS-FIT-FIRST"}),
    ],
    "mixed_precision": [
        (the_policy_is_that_of_bfloat16_alone, {"KERAS-MIXED-KEPT", "KERAS-MIXED-VARIABLE"}),
        (nothing_is_rounded, {"KERAS-MIXED-COMPUTE", "KERAS-MIXED-ERROR"}),
        (steps_are_twice_as_long, {"KERAS-MIXED-STEP"}),
    ],
    "saved_model": [
        (the_file_holds_another_model, {"KERAS-SAVED-SAME"}),
        (the_backend_stays, {"KERAS-SAVED-OTHER"}),
    ],
}
"""What breaks a check, and the codes of all that fails then: what it breaks, and nothing else."""
