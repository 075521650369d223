"""Indexing matches NumPy and never writes."""

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._indices import differs, mix, owner
from tpustarter.checks.jax._refusals import refusal
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/indexing"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html"
AFTER = ["jax.devices_visible"]

ARRAY = "write `x[np.array([0, 2])]` instead of `x[[0, 2]]`"
SET = "`x = x.at[0].set(9)` returns a changed copy"


def pick(x, i):
    """Return the selection of each kind of index; `x: int32[6, 4, 5]`, `i: int32[2, 3]`."""
    return {
        "x[:, None]": x[:, None],
        "x[..., None, 2]": x[..., None, 2],
        "x[None, 3]": x[None, 3],
        "x[-1, -2]": x[-1, -2],
        "x[1:5:2, ::-1]": x[1:5:2, ::-1],
        "x[::-2, :, 4:0:-3]": x[::-2, :, 4:0:-3],
        "x[i]": x[i],
        "x[i, i]": x[i, i],
        "x[:, i]": x[:, i],
        "x[i, :, i]": x[i, :, i],
        "x[i[:, :1], i[0]]": x[i[:, :1], i[0]],
        "x[-1 - i, ..., 2]": x[-1 - i, ..., 2],
    }


def programs(devices):
    """Yield all indices in one program."""
    sharding = SingleDeviceSharding(devices[0])
    x = jax.ShapeDtypeStruct((6, 4, 5), np.int32, sharding=sharding)
    yield "pick", pick, (x, jax.ShapeDtypeStruct((2, 3), np.int32, sharding=sharding))


@with_defaults
def run():
    """Index in all ways on the device and in NumPy, mix the two, and try to write."""
    device = jax.local_devices()[0]
    x = np.arange(120, dtype=np.int32).reshape(6, 4, 5)
    i = np.array([[0, 1, 3], [2, 2, 1]], np.int32)
    y, j = jax.device_put((x, i), device)
    actual, expected = jax.jit(pick)(y, j), pick(x, i)
    lost = {f"index:{way}": differs(actual[way], expected[way]) for way in expected}
    yield from tally("JAX-INDEX-KINDS", "kinds of index that select as in NumPy", lost)

    few = x[:, 0, 0], i, x[:, 0, 0] > 30, np.int32(3)
    actual, expected = mix(*few, lambda array: jax.device_put(array, device)), mix(*few, np.array)
    lost = {f"index:{way}": differs(actual[way], expected[way]) or owner(way, actual[way])
            for way in expected}  # fmt: skip
    yield from tally("JAX-INDEX-MIXED", "NumPy and JAX arrays that index each other", lost)

    name = "x[[0, 2]], a Python list as index"
    yield compare("JAX-INDEX-LIST", name, refusal(lambda: y[[0, 2]]), "TypeError", hint=ARRAY)
    actual = refusal(lambda: y.__setitem__(0, 9))
    yield compare("JAX-INDEX-WRITE", "x[0] = 9", actual, "TypeError", hint=SET)
    actual = differs(y, x) or "as it was"
    yield compare("JAX-INDEX-KEPT", "x after these operations", actual, "as it was", hint=AGAIN)
