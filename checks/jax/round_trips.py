"""Saved arrays load with every bit intact."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _arrays, _files
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 180
ESTIMATE_S = 1
LESSON = "jax/save-parameters"
SOURCE = "https://github.com/jax-ml/ml_dtypes/issues/41"
AFTER = ["jax.devices_visible"]
OWN_PROCESS = True

STATE = ("weights", "momentum")
VIEW = "save `x.view(np.uint16)`, and apply `.view(jnp.bfloat16)` after loading"


def next_step(weights, momentum):
    """Return a training step's `weights: float32[1024]` and `momentum: bfloat16[1024]`."""
    momentum = momentum * 0.5 + weights.astype(jnp.bfloat16)
    return weights - 0.125 * momentum.astype(jnp.float32), momentum


def programs(devices):
    """Yield the step that continues from a file."""
    sharding = SingleDeviceSharding(devices[0])
    dtypes = np.float32, jnp.bfloat16
    like = [jax.ShapeDtypeStruct((1024,), dtype, sharding=sharding) for dtype in dtypes]
    yield "next_step", next_step, tuple(like)


def arrays(devices):
    """Return an array of each type on the first device, the words of a key, and a sharded array."""
    result = {name: jax.device_put(_arrays.ordinary(name), devices[0]) for name in _arrays.CORE}
    line = np.linspace(-1, 1, 1024, dtype=np.float32)
    result["weights"], result["momentum"] = jax.device_put(
        (line, line.astype(jnp.bfloat16)), devices[0]
    )
    result["key"] = jax.random.key_data(jax.random.key(1701))
    sharding = NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))
    result["sharded"] = jax.device_put(np.arange(8 * len(devices), dtype=np.int32), sharding)
    return result


@with_defaults
def run():
    """Write and read arrays with each installed library, then continue computing."""
    devices, step = jax.local_devices(), jax.jit(next_step)
    sent = arrays(devices)
    with tempfile.TemporaryDirectory() as folder:
        for library, through in _files.WAYS.items():
            code, name = f"JAX-FILE-{library.upper()}", f"arrays that round-trip in {library} files"
            if not _files.installed(library):
                yield Finding(code, name, "info", "not applicable: it is not installed")
                continue
            back = through(sent, Path(folder))
            lost = {f"array:{key}": _files.difference(sent[key], back.get(key)) for key in sent}
            yield from tally(code, name, lost)
            state = [jax.device_put(back[key], devices[0]) for key in STATE]
            pairs = zip(step(*(sent[key] for key in STATE)), step(*state), strict=True)
            actual = ", ".join(filter(None, (_files.difference(*pair) for pair in pairs)))
            actual, name = actual or "the same", f"training step after {library} files"
            yield compare(f"{code}-STEP", name, actual, "the same", hint=AGAIN)
        actual = _files.plain_type(sent["bfloat16"], Path(folder))
    yield Finding(
        "JAX-FILE-TYPE", "bfloat16 from np.save and np.load is", "info", actual, hint=VIEW
    )
