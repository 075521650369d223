"""Arrays keep every bit from NumPy to TensorFlow and back."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow._tally import tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/array-conversion"
SOURCE = "https://www.tensorflow.org/guide/tensor"
AFTER = ["tensorflow.devices_visible"]

KINDS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
         "complex64")  # fmt: skip
NARROW = "name the dtype, as in `tf.constant(array, dtype=array.dtype)`"
COPY = "`tensor.numpy()` may share the tensor's memory, so write only into a copy"
OWN = "convert `array.copy()`, because this tensor shares the memory of its array"
DENSE = "convert `np.ascontiguousarray(view)`, whose rows are contiguous"


def to_tensor(array):
    """Return an array as a tensor."""
    return tf.constant(array)


def to_array(tensor):
    """Return a tensor as an array in this machine's memory."""
    return tensor.numpy()


def sample(kind):
    """Return 64 numbers of a kind with extreme ones among them; no NaN, whose bits are free."""
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return np.random.default_rng(0).integers(low, high, 64, dtype, endpoint=True)
    if dtype.kind == "b":
        return np.arange(64) % 3 == 0
    limits = np.finfo(dtype)
    values = [limits.max, limits.min, limits.tiny, -0.0, np.inf, 1 / 3, 1 + limits.eps]
    return np.resize(np.array(values), 64).astype(dtype)


def changed(kind):
    """Describe how numbers of a dtype change in a round trip, or return an empty string."""
    array = sample(kind)
    back = to_array(to_tensor(array))
    if back.dtype != array.dtype:
        return f"came back as {back.dtype}"
    return "" if back.tobytes() == array.tobytes() else "other bits"


def run():
    """Round-trip every dtype, all bfloat16 numbers and a view; then look at shared memory."""
    lost = {f"dtype:{kind}": changed(kind) for kind in KINDS}
    yield from tally("TF-CONVERSION-BITS", "dtypes that keep their bits", lost, NARROW)
    bits = np.arange(2**16, dtype=np.uint16)
    half = bits.view(tf.bfloat16.as_numpy_dtype)
    back = to_array(to_tensor(half)).view(np.uint16)
    kept = int(((back == bits) | np.isnan(half.astype(np.float32))).sum())
    yield compare("TF-CONVERSION-BFLOAT16", "bfloat16 numbers that keep their bits", kept, 2**16,
                  hint=NARROW)  # fmt: skip
    view = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    same = np.array_equal(to_array(to_tensor(view)), view)
    yield compare("TF-CONVERSION-VIEW", "a strided view is kept", same, expected=True, hint=DENSE)
    array = np.ones(4, np.float32)
    tensor = to_tensor(array)
    array[:] = 0
    yield compare("TF-CONVERSION-COPY", "sum of a tensor whose array was changed",
                  float(tf.reduce_sum(tensor)), 4.0, hint=OWN)  # fmt: skip
    shares = np.shares_memory(tensor.numpy(), tensor.numpy())
    yield Finding("TF-CONVERSION-SHARED", "`tensor.numpy()` shares the tensor's memory", "info",
                  bool(shares), hint=COPY)  # fmt: skip
