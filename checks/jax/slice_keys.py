"""Random keys are equal on every host."""

import json

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _hosts, _slices, _threefry
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.5
LESSON = "slices/distributed"
SOURCE = "https://docs.jax.dev/en/latest/jax.random.html"
AFTER = ["jax.slice_program"]

KEY = (0, 1701)  # the words of jax.random.key(1701)
WIDTH = 64
"""Numbers that each device draws."""

ALIKE = (
    "set the same jax_* options on every host; `tpustarter check host.environment -v` lists them"
)
SEED = "send one seed to all hosts with `multihost_utils.broadcast_one_to_all`"


def settings():
    """Return the options that change what a key is and draws, as this host has them."""
    names = ("jax_default_prng_impl", "jax_threefry_partitionable", "jax_enable_x64")
    return "\n".join(f"{name}={jax.config.values[name]}" for name in names)


def words():
    """Return the words of the key that this host makes of the seed."""
    key = jax.random.key(KEY[1], impl="threefry2x32")
    return np.asarray(jax.random.key_data(key)).tolist()


def programs(devices):
    """Yield the program that draws one array on all hosts, from `words: uint32[2]`."""
    mesh = Mesh(np.array(devices), ("d",))
    cut = NamedSharding(mesh, P("d"))

    def draw(words):
        key = jax.random.wrap_key_data(words, impl="threefry2x32")
        bits = jax.random.bits(key, (WIDTH * len(devices),), np.uint32)
        return jax.lax.with_sharding_constraint(bits, cut)

    yield "draw", draw, (_collectives.argument(mesh, P(), 2, dtype=np.uint32),)


def run():
    """Compare options and keys of all hosts, then each device's numbers with Threefry in NumPy."""
    name = "hosts with the same options of random numbers"
    answers = _hosts.exchange("options", settings())
    if (yield from _hosts.agree("SLICE-KEYS-OPTIONS", name, answers, ALIKE)):
        yield from drawn()  # with other options it may be another program


@with_defaults
def drawn():
    """Compare keys, and the numbers drawn with them."""
    answers = _hosts.exchange("keys", json.dumps(words()))
    yield from _hosts.agree("SLICE-KEYS-SAME", "hosts with the same key", answers, SEED)
    devices = jax.devices()
    expected = _threefry.bits(KEY, WIDTH * len(devices)).reshape(len(devices), 1, WIDTH)
    output = _slices.execute(programs(devices), np.array(KEY, np.uint32))
    mine = _slices.own(devices)
    actual = _collectives.shard_rows(output, mine).reshape(-1, 1, WIDTH)
    right = expected[[devices.index(device) for device in mine]]
    lost = _collectives.wrong(actual, right, {}, mine)
    yield from tally("SLICE-KEYS-DRAWN", "devices with their part of the random numbers", lost)
