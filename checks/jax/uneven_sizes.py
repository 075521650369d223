"""Uneven shardings are refused or correct."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._collectives import argument, placed
from tpustarter.checks.jax._tally import AGAIN
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/sharding"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.with_sharding_constraint.html"
AFTER = ["jax.devices_visible"]

PAD = "pad the axis to a multiple of the devices: `jnp.pad(x, (0, -len(x) % jax.device_count()))`"


def doubled(x, sharding):
    """Return `2 x`, sharded over devices that do not divide it evenly; `x: int32[d + 1]`."""
    return jax.lax.with_sharding_constraint(2 * x, sharding)


def programs(devices):
    """Yield one program that shards unevenly inside, and one that returns such an array.

    JAX 0.12.0.1 refuses such a result where its length shares a factor with d, as 10 does with 8.
    """
    mesh = Mesh(np.array(devices), ("d",))
    x, sharding = argument(mesh, P(), len(devices) + 1), NamedSharding(mesh, P("d"))

    def within(numbers):
        return jax.lax.with_sharding_constraint(jnp.cumsum(doubled(numbers, sharding)), x.sharding)

    def last(numbers):
        return doubled(numbers, sharding)

    yield "within", within, (x,)
    yield "last", last, (x,)


def attempt(action, expected):
    """Return `refused` if JAX rejects an uneven size, else whether the numbers are right."""
    try:
        actual = np.asarray(action())
    except ValueError:
        return "refused"
    return "right" if np.array_equal(actual, expected) else "wrong numbers"


def run():
    """Shard an array unevenly as an argument, within a program and as its result."""
    devices = jax.local_devices()
    count, sharding = len(devices), NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))
    x = np.arange(count + 1, dtype=np.int32)
    actual = attempt(functools.partial(jax.device_put, x, sharding), x)
    expected = "refused" if len(x) % count else "right"
    yield judge("ARGUMENT", f"{len(x)} numbers over {count} devices", actual, expected)
    right = {"within": np.cumsum(2 * x), "last": 2 * x}
    names = {"within": "uneven axis inside a jitted function", "last": "uneven axis of its result"}
    for name, function, arguments in programs(devices):
        call = functools.partial(jax.jit(function), *placed([x], arguments))
        actual = attempt(call, right[name])
        yield judge(name.upper(), names[name], actual, "right")


def judge(code, name, actual, expected):
    """Return a finding that fails only for wrong numbers; JAX may reject uneven sizes."""
    verdict = "fail" if actual == "wrong numbers" else "ok" if actual == expected else "info"
    hint = {"wrong numbers": AGAIN, "refused": PAD}.get(actual)
    return Finding(f"JAX-UNEVEN-{code}", name, verdict, actual, expected, hint=hint)
