"""Look up tokens in a table that is sharded.

`embed(table, tokens)` returns the rows of `table` for `tokens`, which is
`int32[b, t]`, sharded by `data` along its first axis. The result is
sharded by `data` along the batch and by `model` along the features.
`last(embedded)` returns the last position of each text, `float32[b, f]`,
sharded likewise. `heads(embedded, count)` splits the features into
`count` heads, `float32[b, t, count, f // count]`, with the heads sharded
by `model`.
"""

import jax
import jax.numpy as jnp
import numpy as np

n = jax.device_count()
jax.set_mesh(jax.make_mesh((2, n // 2), ("data", "model")))


def embed(table, tokens):
    """Return the rows of `table` for `tokens`."""
    return table  # your code here


def last(embedded):
    """Return the last position of each text."""
    return embedded  # your code here


def heads(embedded, count):
    """Return the features as `count` heads."""
    return embedded  # your code here


# Judged below: leave this part as it is.


def expect(name, found, value, kind):
    """Fail if an array has another type or other numbers."""
    message = f"`{name}` returned {jax.typeof(found)}, expected {kind}"
    assert str(jax.typeof(found)) == kind, message
    same = np.array_equal(np.asarray(found), value)
    assert same, f"`{name}` returned other numbers"


numbers = np.arange(64 * 4 * n, dtype=np.float32).reshape(64, 4 * n)
rows = np.arange(24).reshape(4, 6) % 7 * 9
tokens = jax.device_put(jnp.asarray(rows), jax.P("data"))
m = n // 2
for spec in (jax.P(None, "model"), jax.P("model", None), jax.P()):
    table = jax.device_put(jnp.asarray(numbers), spec)
    embedded = jax.jit(embed)(table, tokens)
    kind = f"float32[4@data,6,{4 * n}@model]"
    expect("embed", embedded, numbers[rows], kind)
    found = jax.jit(last)(embedded)
    kind = f"float32[4@data,{4 * n}@model]"
    expect("last", found, numbers[rows][:, -1], kind)
    found = jax.jit(heads, static_argnums=1)(embedded, m)
    kind = f"float32[4@data,6,{m}@model,8]"
    expect("heads", found, numbers[rows].reshape(4, 6, m, 8), kind)
print("three tables, and each result where it should be")
