"""Programs that call functions on the host, with and without a result, and those functions.

The rule to know: a function on the host runs on a thread of the runtime while its program waits,
and must not call JAX. Source: https://docs.jax.dev/en/latest/external-callbacks.html
"""

from functools import partial

import jax
import numpy as np
from jax.experimental import io_callback

METHODS = ("sequential", "expand_dims", "broadcast_all")
"""Ways to map a callback over the rows of an array."""

HEARD = []
"""Numbers that programs sent to the host, in order of arrival."""


def answer(numbers):
    """Return `3 x + 1` for `x: int32[...]`, by NumPy."""
    return (3 * np.asarray(numbers) + 1).astype(np.int32)


def hear(numbers):
    """Record the first of some numbers, and return it."""
    first = np.asarray(numbers).reshape(-1)[0]
    HEARD.append(int(first))
    return first


def refuse(numbers):
    """Raise an error, like a callback that finds no file or bad numbers."""
    raise ValueError(f"the host refuses these {len(numbers)} numbers")


def heard():
    """Wait for all callbacks, and return the numbers recorded since the last call."""
    jax.effects_barrier()
    values = list(HEARD)
    HEARD.clear()
    return values


def ask(x, way=None):
    """Return the host's answer to `x: int32[...]`; `way` is the method to map it over rows."""
    return jax.pure_callback(answer, x, x, vmap_method=way)


def ask_by_rows(x):
    """Return the answers to `x: int32[8, w]`, asked as a whole and by each way to map over rows."""
    return {"jit": ask(x), **{way: jax.vmap(partial(ask, way=way))(x) for way in METHODS}}


def ask_on_each(x):
    """Send a device's `x: int32[1, w]` to the host, and return the host's answer."""
    jax.debug.callback(hear, x)
    return io_callback(answer, x, x)


def tell_in_order(x):
    """Send the first number of each row of `x: int32[8, w]` to the host, and return the last."""

    def tell(row, last):
        return io_callback(hear, last, x[row, 0], ordered=True)

    return jax.lax.fori_loop(0, len(x), tell, x[0, 0])


def ask_in_vain(x):
    """Call a host function that raises an error for `x: int32[8, w]`."""
    return io_callback(refuse, x, x)
