"""The sabotage that makes each TensorFlow check fail."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support.judging import Sabotage


def another_build_is_installed(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Pretend that the installed TensorFlow is the build for TPUs."""
    versions = module._versions
    plain = versions.installed()
    name = next(name for name in module.BUILDS if name in plain)
    package = plain.pop(name)
    patch.setattr(versions, "installed", lambda: {**plain, "tensorflow-tpu": package})


def the_last_device_answers_zeros(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let one device of several answer zeros."""
    last = tf.config.list_logical_devices("CPU")[-1].name

    def answer(x: tf.Tensor) -> tf.Tensor:
        return 3 * x + 7 if not x.device.endswith(last) else 0 * x

    patch.setattr(module, "answer", answer)


def the_resolver_leads_elsewhere(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Resolve the address of a TPU Node, as programs of 2020 do."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver
    patch.setattr(module, "local", lambda: resolver(tpu="grpc://10.0.0.2:8470"))


def a_replica_forgets_its_number(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let every replica compute the share of the first."""
    patch.setattr(module, "share", lambda x, y, _: x @ y)


def float32_is_rounded_to_bfloat16(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Multiply as a TPU does that was not asked for more."""

    def product(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        half = (tf.cast(operand, tf.bfloat16) for operand in (x, y))
        return tf.cast(tf.linalg.matmul(*half), x.dtype)

    patch.setattr(module, "product", product)


def float64_is_narrowed(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Silently narrow a float64 to float32, as JAX does."""

    def narrow(array: Any) -> tf.Tensor:
        tensor = tf.constant(array)
        return tf.cast(tensor, tf.float32) if tensor.dtype == tf.float64 else tensor

    patch.setattr(module, "to_tensor", narrow)


def the_last_batch_is_kept(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Make a dataset whose last batch is smaller: its shape is dynamic."""
    batches = module.batches
    patch.setattr(module, "batches", lambda rows, **_: batches(rows, drop_remainder=False))


def padding_counts(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Give the rows that were added the weight of the others."""
    padded = module.padded
    patch.setattr(module, "padded", lambda *given: (padded(*given)[0], padded(*given)[1] * 0 + 1))


def nothing_is_compiled(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Run eagerly the function that was to be compiled as a whole."""
    patch.setattr(module, "compiled", lambda function: function)


def every_replica_reads_all(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Hand the whole dataset to each replica."""

    def distributed(strategy: Any, dataset: Any) -> Any:
        return [tuple(batch for _ in range(strategy.num_replicas_in_sync)) for batch in dataset]

    patch.setattr(module, "distributed", distributed)
    patch.setattr(module, "rows_of", lambda _, batch: [part.numpy() for part in batch])


def rows_come_as_they_are_ready(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Give up the order for speed."""

    def parallel(rows: int) -> tf.data.Dataset:
        dataset = tf.data.Dataset.range(rows)
        return dataset.map(module.slow_first, num_parallel_calls=4, deterministic=False)

    patch.setattr(module, "parallel", parallel)


def images_are_read_as_another_type(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Read the bytes of float32 as int32, which has as many."""
    parsed = module.parsed

    def wrong(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        image, label = parsed(record)
        return tf.cast(tf.bitcast(image, tf.int32), tf.float32), label

    patch.setattr(module, "parsed", wrong)


def the_optimizer_is_not_saved(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Save the weights alone, so that the momentum is lost."""
    saved = module.saved_parts
    patch.setattr(module, "saved_parts", lambda weights, _: tf.train.Checkpoint(weights=weights))
    assert saved is not module.saved_parts


def each_replica_averages_alone(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Divide by the rows of one replica, so that the sum over replicas is too large."""
    patch.setattr(module, "loss_of", lambda errors, _: tf.reduce_mean(errors))


def files_hide_a_generator(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the pipeline that should be self-contained call back into Python."""
    patch.setattr(module, "from_operations", module.from_python)


def views_lose_their_order(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Take the numbers of a view as they lie in memory."""
    patch.setattr(
        module, "to_tensor", lambda array: tf.constant(array.ravel("K").reshape(array.shape))
    )


def small_numbers_become_zero(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Flush bfloat16 numbers to zero that have no leading one, as some hardware does."""

    def flushed(tensor: tf.Tensor) -> Any:
        array = tensor.numpy()
        if tensor.dtype != tf.bfloat16:
            return array
        array = array.copy()
        array[abs(array.astype("float32")) < 2.0**-126] = 0
        return array

    patch.setattr(module, "to_array", flushed)


def the_weights_are_not_saved(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Save the count of steps alone; an optimizer that is built has the weights with it."""
    patch.setattr(
        module, "saved_parts", lambda _, one: tf.train.Checkpoint(steps=one.iterations.value)
    )


def the_compiler_is_wrong(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Compile another layer than the one that runs eagerly."""
    layer, compiled = module.layer, module.compiled

    def wrong(x: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
        return layer(x, weight) + 1

    patch.setattr(
        module, "compiled", lambda function: compiled(wrong if function is layer else function)
    )


def a_device_is_missing(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """See all devices but the last."""
    visible = module.visible
    patch.setattr(module, "visible", lambda: visible()[:-1])


def replicas_are_averaged(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Take the mean over the replicas for their sum."""
    patch.setattr(module, "total", lambda strategy, shares: strategy.reduce("MEAN", shares, None))


def each_epoch_has_its_own_order(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Shuffle anew in each epoch, as `shuffle` does by default."""
    patch.setattr(module, "shuffled", lambda rows: tf.data.Dataset.range(rows).shuffle(rows))


def nothing_is_shuffled(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Mix with a buffer of one row."""
    patch.setattr(module, "shuffled", lambda rows: tf.data.Dataset.range(rows).shuffle(1))


def a_row_is_left_out(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Drop the last row of each epoch."""
    shuffled = module.shuffled
    patch.setattr(module, "shuffled", lambda rows: shuffled(rows).take(rows - 1))


def the_batch_is_that_of_a_replica(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Batch by the rows of one replica, as an `input_fn` of an Estimator did."""
    numbered = module.numbered
    patch.setattr(module, "numbered", lambda count, _: numbered(count, module.PER_REPLICA))


def a_name_is_found(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Find a TPU elsewhere without a name."""
    patch.setattr(module, "nameless", lambda: "")


def the_weights_are_bfloat16_too(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Choose the policy that keeps nothing in float32."""
    by_policy = module.by_policy
    patch.setattr(module, "by_policy", lambda pair: by_policy(pair, "bfloat16"))


def two_builds_are_installed(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Install a second one over the first."""
    installed = module._versions.installed()
    other = {name: next(iter(installed.values())) for name in module.BUILDS[:2]}
    patch.setattr(module._versions, "installed", lambda: {**other, **installed})


def another_version_is_imported(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Import a module that stands earlier on the path."""
    patch.setattr(module, "imported", lambda: "2.15.1")


def no_batch_is_ever_smaller(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Drop the remainder whatever was asked for."""
    batches = module.batches
    patch.setattr(module, "batches", lambda rows, **_: batches(rows))


def labels_are_shifted(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Count the labels from one."""
    parsed = module.parsed
    patch.setattr(module, "parsed", lambda record: (parsed(record)[0], parsed(record)[1] + 1))


class _Shared:
    """A tensor that looks at the memory of its array.

    DLPack makes a real one, with which TensorFlow 2.20 ends its process wherever NumPy's memory
    does not begin at a multiple of 64 bytes (`Check failed: IsAligned()`).
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the array's current values to an operation of TensorFlow."""
        return self.array.astype(dtype or self.array.dtype)

    def numpy(self) -> np.ndarray:
        """Return the array."""
        return self.array


def tensors_share_memory(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Make tensors that look at their arrays, as those of DLPack do."""
    patch.setattr(module, "to_tensor", _Shared)


def devices_are_of_another_kind(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Compute on GPUs."""
    visible = module.visible
    patch.setattr(module, "visible", lambda: [one._replace(device_type="GPU") for one in visible()])


def a_result_is_lost(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Gather the results of all replicas but the last."""
    gather = module._strategy.local_results
    patch.setattr(module._strategy, "local_results", lambda *given: gather(*given)[:-1])


def half_of_the_devices_train(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Build the strategy for some devices, as a list of names does that is too short."""
    half = [device.name for device in tf.config.list_logical_devices("CPU")][:4]
    strategy = functools.cache(lambda: tf.distribute.MirroredStrategy(half))
    patch.setattr(module._strategy, "on_all_devices", strategy)


def a_generator_has_ended_before(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Hand over an iterator, which yields its rows once, and not a function that makes one."""
    signature = tf.TensorSpec((), tf.int64)

    def spent() -> tf.data.Dataset:
        rows = iter(())
        return tf.data.Dataset.from_generator(lambda: rows, output_signature=signature)

    patch.setattr(module, "from_python", spent)


def no_generator_calls_back(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Run the generator at once, so that the pipeline holds its rows."""
    rows = [row * row for row in range(module.ROWS)]
    made = functools.partial(tf.data.Dataset.from_tensor_slices, tf.constant(rows, tf.int64))
    patch.setattr(module, "from_python", made)


def few_bits(tensor: tf.Tensor) -> tf.Tensor:
    """Return a tensor of which 3 bits of each number are kept."""
    return tf.cast(tf.cast(tensor, tf.dtypes.experimental.float8_e5m2), tensor.dtype)


def bfloat16_is_rounded_further(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Multiply bfloat16 in eight bits."""
    product = module.product

    def coarse(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return product(few_bits(x), few_bits(y)) if x.dtype == tf.bfloat16 else product(x, y)

    patch.setattr(module, "product", coarse)


def layers_compute_in_eight_bits(patch: pytest.MonkeyPatch, _: ModuleType) -> None:
    """Round a layer's input to eight bits before it multiplies."""

    class Coarse(tf.keras.layers.Dense):
        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            return super().call(few_bits(inputs))

    patch.setattr(tf.keras.layers, "Dense", Coarse)


def bfloat16_keeps_every_bit(patch: pytest.MonkeyPatch, _: ModuleType) -> None:
    """Leave a single number in float32, as a device does that lacks the type."""
    cast = tf.cast

    def kept(x: Any, dtype: tf.DType) -> Any:
        return x if tf.is_tensor(x) and x.shape.rank == 0 else cast(x, dtype)

    patch.setattr(tf, "cast", kept)


def damaged_records_are_left_out(patch: pytest.MonkeyPatch, _: ModuleType) -> None:
    """Read on behind an error, as `ignore_errors` does."""
    read = tf.data.TFRecordDataset
    patch.setattr(tf.data, "TFRecordDataset", lambda path: read(path).ignore_errors())


SABOTAGE: Sabotage = {
    "array_conversion": [
        (float64_is_narrowed, {"TF-CONVERSION-BITS"}),
        (views_lose_their_order, {"TF-CONVERSION-VIEW"}),
        (small_numbers_become_zero, {"TF-CONVERSION-BFLOAT16"}),
        (tensors_share_memory, {"TF-CONVERSION-COPY"}),
    ],
    "checkpoint": [
        (the_optimizer_is_not_saved, {"TF-CHECKPOINT-NEXT", "TF-CHECKPOINT-STEPS"}),
        (the_weights_are_not_saved, {"TF-CHECKPOINT-NEXT", "TF-CHECKPOINT-SAME"}),
    ],
    "compiled_function": [
        (nothing_is_compiled, {"TF-JIT-HLO", "TF-JIT-REFUSED"}),
        (the_compiler_is_wrong, {"TF-JIT-EQUAL"}),
    ],
    "devices_visible": [
        (the_last_device_answers_zeros, {"TF-DEVICES-ANSWER"}),
        (a_device_is_missing, {"TF-DEVICES-COUNT"}),
        (devices_are_of_another_kind, {"TF-DEVICES-PLATFORM"}),
    ],
    "every_device": [
        (a_replica_forgets_its_number, {"TF-EVERY-SHARE"}),
        (replicas_are_averaged, {"TF-EVERY-TOTAL"}),
        (a_result_is_lost, {"TF-EVERY-REPLICAS", "TF-EVERY-TOTAL"}),
        (half_of_the_devices_train, {"TF-EVERY-REPLICAS", "TF-EVERY-SYNC"}),
    ],
    "exact_evaluation": [
        (padding_counts, {"TF-EXACT-METRIC"}),
    ],
    "generator_stays": [
        (files_hide_a_generator, {"TF-GENERATOR-OPERATIONS"}),
        (a_generator_has_ended_before, {"TF-GENERATOR-HERE"}),
        (no_generator_calls_back, {"TF-GENERATOR-REFUSED"}),
    ],
    "input_order": [
        (rows_come_as_they_are_ready, {"TF-ORDER-PARALLEL"}),
        (each_epoch_has_its_own_order, {"TF-ORDER-SHUFFLED"}),
        (nothing_is_shuffled, {"TF-ORDER-MOVED"}),
        (a_row_is_left_out, {"TF-ORDER-ONCE"}),
    ],
    "input_sharding": [
        (every_replica_reads_all, {"TF-SHARDING-EVEN", "TF-SHARDING-ONCE", "TF-SHARDING-ORDER"}),
        (
            the_batch_is_that_of_a_replica,
            {"TF-SHARDING-BATCHES", "TF-SHARDING-EVEN", "TF-SHARDING-ORDER"},
        ),
    ],
    "local_resolver": [
        (the_resolver_leads_elsewhere, {"TF-RESOLVER-ADDRESS", "TF-RESOLVER-HOSTS"}),
        (a_name_is_found, {"TF-RESOLVER-NAMELESS"}),
    ],
    "matmul_precision": [
        (float32_is_rounded_to_bfloat16, {"TF-PRECISION-EXACT", "TF-PRECISION-FLOAT32"}),
        (the_weights_are_bfloat16_too, {"TF-PRECISION-STORED"}),
        (bfloat16_is_rounded_further, {"TF-PRECISION-BFLOAT16"}),
        (layers_compute_in_eight_bits, {"TF-PRECISION-MIXED-BFLOAT16"}),
        (bfloat16_keeps_every_bit, {"TF-PRECISION-HALF"}),
    ],
    "optimizer_step": [
        (each_replica_averages_alone, {"TF-STEP-LOSS", "TF-STEP-WEIGHTS"}),
    ],
    "package": [
        (another_build_is_installed, {"TF-PACKAGE-KERNELS"}),
        (two_builds_are_installed, {"TF-PACKAGE-ONE"}),
        (another_version_is_imported, {"TF-PACKAGE-VERSION"}),
    ],
    "static_shapes": [
        (the_last_batch_is_kept, {"TF-STATIC-ROWS", "TF-STATIC-SPEC", "TF-STATIC-TRACES"}),
        (no_batch_is_ever_smaller, {"TF-STATIC-DYNAMIC"}),
    ],
    "tfrecord": [
        (images_are_read_as_another_type, {"TF-RECORD-IMAGES"}),
        (labels_are_shifted, {"TF-RECORD-LABELS"}),
        (damaged_records_are_left_out, {"TF-RECORD-DAMAGE"}),
    ],
}
"""What breaks a check, and the codes of all that fails then: what it breaks, and nothing else."""
