"""Equal keys give equal numbers everywhere."""

import jax
import numpy as np
from jax.extend.random import threefry_2x32
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _threefry
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/random-keys"
SOURCE = "https://docs.jax.dev/en/latest/jax.random.html"
AFTER = ["jax.devices_visible"]

COUNT = 1000
KEY = (0, 1701)  # the words of jax.random.key(1701)
RBG = "use the default, threefry2x32, for numbers that must be the same on any kind of device"


def draw(words):
    """Return numbers and keys made from a key's `words: uint32[2]`."""
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return {
        "bits": jax.random.bits(key, (COUNT,), np.uint32),
        "uniform": jax.random.uniform(key, (COUNT,), np.float32),
        "split": jax.random.key_data(jax.random.split(key, 3)),
        "fold_in": jax.random.key_data(jax.random.fold_in(key, 7)),
    }


def cipher(keys, counters):
    """Return Threefry-2x32 of `keys: uint32[3, 2]` and `counters: uint32[3, 2]`."""
    return jax.vmap(threefry_2x32)(keys, counters)


def draw_by_hardware(words):
    """Return the first number of the generator `rbg` for `words: uint32[4]`."""
    return jax.random.bits(jax.random.wrap_key_data(words, impl="rbg"), (1,), np.uint32)


def programs(devices):
    """Yield one program that lets every device compute all of it on its own."""
    mesh = Mesh(np.array(devices), ("d",))

    def on_each(words, words_of_rbg, keys, counters):
        results = draw(words), cipher(keys, counters), draw_by_hardware(words_of_rbg)
        return jax.tree.map(lambda x: x[None], results)

    function = jax.shard_map(on_each, mesh=mesh, in_specs=P(), out_specs=P("d"), check_vma=False)
    sharding, shapes = NamedSharding(mesh, P()), ((2,), (4,), (3, 2), (3, 2))
    arguments = [jax.ShapeDtypeStruct(shape, np.uint32, sharding=sharding) for shape in shapes]
    yield "on_each", function, tuple(arguments)


@with_defaults
def run():
    """Compare each device's numbers with Threefry in NumPy, and the cipher with its authors'."""
    devices, (keys, counters, results) = jax.local_devices(), zip(*_threefry.VECTORS, strict=True)
    values = [np.array(words, np.uint32) for words in (KEY, (*KEY, *KEY), keys, counters)]
    [(_, function, shapes)] = programs(devices)
    program, values = jax.jit(function), jax.device_put(values, shapes[0].sharding)
    (drawn, hashed, hardware), (again, *_) = program(*values), program(*values)
    lost = _threefry.differences(hashed, np.array(results, np.uint32), devices)
    yield from tally("JAX-RANDOM-VECTORS", "devices with the published Threefry numbers", lost)
    for name, expected in _threefry.drawn(KEY, COUNT).items():
        lost = _threefry.differences(drawn[name], expected, devices)
        code = f"JAX-RANDOM-{name.upper().replace('_', '-')}"
        yield from tally(code, f"devices whose {name} is right", lost)
    lost = _threefry.differences(again["bits"], np.asarray(drawn["bits"])[0], devices)
    yield from tally("JAX-RANDOM-AGAIN", "devices that repeat their numbers", lost)
    first, name = int(np.asarray(hardware).ravel()[0]), "first number of rbg here"
    yield Finding("JAX-RANDOM-RBG", name, "info", first, hint=RBG)
