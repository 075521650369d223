"""Donation invalidates only its argument."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._refusals import refusal
from tpustarter.checks.jax._tally import AGAIN
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/memory-and-donation"
SOURCE = "https://docs.jax.dev/en/latest/buffer_donation.html"
AFTER = ["jax.devices_visible"]

SHAPE = "donate an array of the shape and type of a result, or do not donate"


def add_one(x):
    """Return `x + 1` for `x: float32[1024]`, which fits into the memory of `x`."""
    return x + 1


def total(x):
    """Return the sum of `x: float32[1024]`, which cannot reuse the memory of `x`."""
    return jnp.sum(x)


def programs(devices):
    """Yield the program that can reuse its argument's memory, and the one that cannot."""
    x = jax.ShapeDtypeStruct((1024,), np.float32, sharding=SingleDeviceSharding(devices[0]))
    yield "add_one", add_one, (x,)
    yield "total", total, (x,)


def donate(function, x):
    """Return the result of a function whose argument is donated, and the warnings."""

    @functools.wraps(function)
    def given(x):  # JAX warns once for a function it knows
        return function(x)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = np.array(jax.jit(given, donate_argnums=0)(x))
    return result, " ".join(str(warning.message) for warning in caught)


@with_defaults
def run():
    """Pass an array, then donate it, then donate one whose memory fits no result."""
    sent, numbers = np.arange(1024, dtype=np.float32), np.arange(1024, dtype=np.float32)
    x, y = jax.device_put((sent, numbers), jax.local_devices()[0])
    jax.block_until_ready(jax.jit(add_one)(x))
    text = "gone" if x.is_deleted() else same(np.array(x), numbers)
    yield compare("JAX-DONATION-LENT", "x after f(x)", text, "as it was", hint=AGAIN)
    result, _ = donate(add_one, x)
    text = same(result - 1, numbers)
    yield compare("JAX-DONATION-RESULT", "f(x) - 1, with x donated", text, "as it was", hint=AGAIN)
    text, name = refusal(lambda: np.array(x)), "reading x after donating it"
    yield compare("JAX-DONATION-GONE", name, text, "RuntimeError", hint=AGAIN)
    text = same(sent, numbers)
    yield compare("JAX-DONATION-NUMPY", "NumPy array x is from", text, "as it was", hint=AGAIN)
    _, warned = donate(total, y)
    text, name = "warned of" if "not usable" in warned else "silent", "unusable donation"
    yield compare("JAX-DONATION-UNUSED", name, text, "warned of", hint=SHAPE)


def same(actual, expected):
    """Return `as it was` for equal numbers, else `other numbers`."""
    return "as it was" if np.array_equal(actual, expected) else "other numbers"
