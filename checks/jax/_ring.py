"""A row from each device to the next one, around the ring along the links between them."""

import jax

from tpustarter.checks.jax import _collectives


def from_before(x, count):
    """Return the `x: int32[1, w]` of the previous device in the ring."""
    return jax.lax.ppermute(x, "d", [(place, (place + 1) % count) for place in range(count)])


def order(devices):
    """Return the devices in the order in which `jax.make_mesh` lays them along the links."""
    return list(jax.make_mesh((len(devices),), ("d",), devices=devices).devices.flat)


def programs(devices):
    """Yield the program that sends each row of `x: int32[d, w]` to the next device of that ring."""

    def pass_on(x):
        return from_before(x, len(devices))

    function, x = _collectives.spread(pass_on, order(devices))
    yield "pass_on", function, (x,)
