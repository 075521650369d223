"""Pytrees and keys survive every conversion."""

import collections

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._refusals import refusal
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.checks.jax._trees import State, differs, numbers
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/random-keys"
SOURCE = "https://docs.jax.dev/en/latest/jep/9263-typed-keys.html"
AFTER = ["jax.devices_visible"]

IMPL = "threefry2x32"
DATA = "`jax.random.wrap_key_data` turns the numbers of `jax.random.key_data(key)` into a key"


def tree(weights, small, table, step, mask):
    """Return arrays of five types in nested containers, as a model and its optimizer hold them."""
    ordered = collections.OrderedDict(z=table, a=(mask,))
    return {"model": [weights, None, {"b": small, "a": ordered}], "state": State(step, ((), step))}


def use(words):
    """Return numbers drawn from a key in the forms that a key takes; `words: uint32[2]`."""
    key = jax.random.wrap_key_data(words, impl=IMPL)
    many = jnp.stack([key, key]).reshape(1, 2)
    drawn = [jax.random.bits(k, (16,), np.uint32) for k in (key, many[0, 1])]
    return *drawn, jax.random.key_data(key)


def programs(devices):
    """Yield the program that builds the tree, and the one that uses a key."""
    sharding = SingleDeviceSharding(devices[0])
    leaves = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding) for leaf in numbers()]
    yield "tree", tree, tuple(leaves)
    yield "use", use, (jax.ShapeDtypeStruct((2,), np.uint32, sharding=sharding),)


@with_defaults
def run():
    """Send a tree to the device, through a program and back; then keys in all their forms."""
    device, leaves = jax.local_devices()[0], numbers()
    sent = tree(*leaves)
    on_device = jax.device_put(sent, device)
    built = jax.jit(tree)(*jax.device_put(leaves, device))
    ways = {"device_put": on_device, "device_get": jax.device_get(on_device), "jit": built,
            "jax.tree.map": jax.tree.map(lambda leaf: leaf, on_device)}  # fmt: skip
    lost = {f"way:{name}": differs(sent, result) for name, result in ways.items()}
    yield from tally("JAX-TREE-WAYS", "conversions that keep a pytree", lost)
    key = jax.random.key(1701, impl=IMPL)
    words = np.asarray(jax.random.key_data(key))
    back = jax.random.key_data(jax.random.wrap_key_data(jnp.asarray(words), impl=IMPL))
    yield same("JAX-KEY-DATA", "key after key_data and wrap_key_data", back, words)
    moved = jax.random.key_data(jax.device_get(jax.device_put({"k": key}, device))["k"])
    yield same("JAX-KEY-MOVED", "key after device_put and device_get", moved, words)
    old = jax.random.PRNGKey(1701, impl=IMPL)
    yield same("JAX-KEY-OLD", "PRNGKey(1701), beside key(1701)", old, words)
    first, second, inside = jax.jit(use)(jax.device_put(words, device))
    yield same("JAX-KEY-INSIDE", "key inside a jitted function", inside, words)
    yield same("JAX-KEY-STACKED", "numbers from one key of a batch", second, first)
    actual = refusal(lambda: np.asarray(key))
    yield compare("JAX-KEY-NUMPY", "np.asarray(key)", actual, "TypeError", hint=DATA)


def same(code, name, actual, expected):
    """Return the finding that two arrays are equal."""
    text = "the same" if np.array_equal(np.asarray(actual), np.asarray(expected)) else "another"
    return compare(code, name, text, "the same", hint=AGAIN)
