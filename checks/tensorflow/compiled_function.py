"""`jit_compile=True` compiles, and matches eager execution."""

import numpy as np
import tensorflow as tf

from tpustarter.probe.finding import compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "tensorflow/running-locally"
SOURCE = "https://www.tensorflow.org/xla"
AFTER = ["tensorflow.devices_visible"]

EXACT = "report it to tensorflow/tensorflow, because whole numbers are exact in both"
WHOLE = (
    "move what XLA cannot compile, such as strings and `tf.py_function`, into the input pipeline"
)
WIDTH = 32


def layer(x, weight):
    """Return `relu(x @ weight) - 1` for `x: float32[n, 32]`, `weight: float32[32, 32]`."""
    return tf.nn.relu(x @ weight) - 1


def compiled(function):
    """Have XLA compile a whole function, as a TPU always does."""
    return tf.function(function, jit_compile=True)


def hlo(function, *arguments):
    """Return the HLO of a compiled function; empty if XLA did not compile it."""
    try:
        return function.experimental_get_compiler_ir(*arguments)(stage="hlo")
    except (AttributeError, ValueError):
        return ""


def words(x):
    """Return text, which XLA cannot compile."""
    return tf.strings.as_string(x)


def run():
    """Compare both ways on whole numbers, look at the program, and try what has no kernel."""
    draw = np.random.default_rng(0)
    x, weight = (tf.constant(draw.integers(-4, 5, (WIDTH, WIDTH)).astype(np.float32))
                 for _ in range(2))  # fmt: skip
    function = compiled(layer)
    differ = int(tf.math.count_nonzero(function(x, weight) != layer(x, weight)))
    yield compare(
        "TF-JIT-EQUAL", "elements that differ from eager execution", differ, 0, hint=EXACT
    )
    text = hlo(function, x, weight)
    yield compare("TF-JIT-HLO", "XLA got one program with the matmul in it",
                  text.startswith("HloModule") and " dot(" in text, expected=True,
                  hint=WHOLE)  # fmt: skip
    refused = ""
    try:
        compiled(words)(x)
    except tf.errors.InvalidArgumentError as error:
        refused = "InvalidArgumentError" if "AsString" in str(error) else str(error)
    yield compare("TF-JIT-REFUSED", "text within it is refused", refused, "InvalidArgumentError",
                  hint=WHOLE)  # fmt: skip
