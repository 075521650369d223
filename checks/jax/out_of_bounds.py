"""Out-of-bounds indices act as documented."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _indices
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/indexing"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.Array.at.html"
AFTER = ["jax.devices_visible"]

HINT = "use `jnp.clip(i, 0, len(x) - 1)` before indexing, and report this check's output to JAX"


def read(x, i):
    """Return the result of each way to read; `x: int32[10]`, `i: int32[7]`."""
    y = x.astype(jnp.float32)
    return {
        "x[i]": x[i],
        "x[99]": x[99],
        "x.at[i].get(mode='clip')": x.at[i].get(mode="clip"),
        "x.at[i].get(mode='fill')": x.at[i].get(mode="fill"),
        "x.at[i].get(mode='fill', fill_value=-1)": x.at[i].get(mode="fill", fill_value=-1),
        "y.at[i].get(mode='fill')": y.at[i].get(mode="fill"),
        "jnp.take(y, i)": jnp.take(y, i),
        "x[8:99]": x[8:99],
        "lax.dynamic_slice(x, (i[6],), (4,))": jax.lax.dynamic_slice(x, (i[6],), (4,)),
    }


def write(x, i):
    """Return the result of each way to write; `x: int32[10]`, `i: int32[7]`."""
    return {
        "x.at[i].set(-5)": x.at[i].set(-5),
        "x.at[i].add(7)": x.at[i].add(7),
        "x.at[i].max(50)": x.at[i].max(50),
        "x.at[i].set(-5, mode='drop')": x.at[i].set(-5, mode="drop"),
        "x.at[i].add(7, mode='clip')": x.at[i].add(7, mode="clip"),
        "x.at[99].set(-5)": x.at[99].set(-5),
    }


def programs(devices):
    """Yield the two programs, with indices that the compiler does not know."""
    sharding = SingleDeviceSharding(devices[0])
    x = jax.ShapeDtypeStruct((_indices.COUNT,), np.int32, sharding=sharding)
    i = jax.ShapeDtypeStruct((len(_indices.READ),), np.int32, sharding=sharding)
    yield "read", read, (x, i)
    yield "write", write, (x, i)


@with_defaults
def run():
    """Access arrays out of bounds in each way, and compare with the documented rules."""
    x = np.arange(_indices.COUNT, dtype=np.int32) * 11
    yield from compare(read, _indices.reads, x, np.array(_indices.READ, np.int32))
    yield from compare(write, _indices.writes, x, np.array(_indices.WRITE, np.int32))


def compare(program, rules, x, i):
    """Yield the number of ways that follow the rules, and each that does not."""
    actual = jax.jit(program)(*jax.device_put((x, i), jax.local_devices()[0]))
    expected, kind = rules(x, i), rules.__name__.removesuffix("s")
    lost = {f"way:{way}": _indices.differs(actual[way], expected[way]) for way in expected}
    name = f"ways to {kind} past the end, as documented"
    yield from tally(f"JAX-BOUNDS-{kind.upper()}", name, lost, HINT)
