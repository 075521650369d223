"""Python scalars never widen an array."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/numpy-and-jax"
SOURCE = "https://docs.jax.dev/en/latest/type_promotion.html"
AFTER = ["jax.devices_visible"]

DTYPES = ("int8", "uint8", "int32", "float16", "bfloat16", "float32")
REPORT = "report it to JAX with the output of `jax.print_environment_info()`"
WEAK = "write `x + 1.0`, or `x + scale.astype(x.dtype)`, because a NumPy scalar has its own dtype"


def with_python_numbers(*arrays):
    """Return each array plus an integer, and each of floats times a float; arrays `[8]`."""
    floats = [x for x in arrays if jnp.issubdtype(x.dtype, jnp.floating)]
    times = {f"{x.dtype} * 2.5": x * 2.5 for x in floats}
    return {**times, **{f"{x.dtype} + 1": x + 1 for x in arrays}}


def with_other_arrays(*arrays):
    """Return the sums of arrays `[8]` of two types, in the order of `DOCUMENTED`."""
    int8, uint8, int32, float16, bfloat16, _ = arrays
    sums = (int8 + int32, int8 + uint8, int8 + bfloat16, bfloat16 + float16)
    return (*sums, bfloat16 + np.float32(1))


DOCUMENTED = {  # types of sums, from the table in the source
    "int8 + int32": "int32",
    "int8 + uint8": "int16",
    "int8 + bfloat16": "bfloat16",
    "bfloat16 + float16": "float32",
    "bfloat16 + np.float32(1)": "float32",
}


def programs(devices):
    """Yield both programs, which take an array of each type."""
    sharding = SingleDeviceSharding(devices[0])
    arrays = [jax.ShapeDtypeStruct((8,), x.dtype, sharding=sharding) for x in numbers()]
    for function in (with_python_numbers, with_other_arrays):
        yield function.__name__, function, tuple(arrays)


def numbers():
    """Return the numbers 0 to 7 in each type."""
    return [np.arange(8).astype(getattr(jnp, name)) for name in DTYPES]


@with_defaults
def run():
    """Combine arrays with Python scalars, NumPy scalars and other arrays, and compare dtypes."""
    plain, arrays = np.arange(8), jax.device_put(numbers(), jax.local_devices()[0])
    lost = {f"sum:{name}": differs(x, name.split()[0], plain * 2.5 if "*" in name else plain + 1)
            for name, x in jax.jit(with_python_numbers)(*arrays).items()}  # fmt: skip
    yield from tally("JAX-WEAK-PYTHON", "dtypes that a Python scalar keeps", lost, REPORT)
    sums = dict(zip(DOCUMENTED, jax.jit(with_other_arrays)(*arrays), strict=True))
    lost = {f"sum:{name}": differs(x, DOCUMENTED[name], plain + (1 if "np." in name else plain))
            for name, x in sums.items()}  # fmt: skip
    yield from tally("JAX-WEAK-ARRAYS", "promotions of two dtypes as documented", lost, REPORT)
    name = "bfloat16 + np.float32(1)"
    yield Finding("JAX-WEAK-NUMPY", name, "info", sums[name].dtype.name, hint=WEAK)


def differs(actual, dtype, expected):
    """Describe the wrong type or numbers of a result, or return an empty string."""
    text = f"{actual.dtype} {np.asarray(actual, np.float64).tolist()}"
    return "" if text == f"{dtype} {expected.astype(np.float64).tolist()}" else text
