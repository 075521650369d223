"""Compute a gated MLP on all devices, with one all-reduce.

`mlp` runs on each device, inside `jax.shard_map`. It gets all of `x`, some
columns of `gate` and `up`, and the rows of `down` that belong to them, and
returns the whole output. The devices are the mesh axis "model". One
collective is enough, and the program is refused if it has more.
"""

import jax
import jax.numpy as jnp
import numpy as np
from collectives import count_collectives


def mlp(x, gate, up, down):
    """Return the whole output, on every device."""
    hidden = jax.nn.silu(x @ gate) * (x @ up)
    hidden = jax.lax.psum(hidden, "model")  # your code here
    return jax.lax.psum(hidden @ down, "model")


# Judged below: leave this part as it is.

n = jax.device_count()
rng = np.random.default_rng(0)
x = np.float32(rng.normal(size=(6, 16)))
gate, up = np.float32(rng.normal(size=(2, 16, 8 * n)) / 4)
down = np.float32(rng.normal(size=(8 * n, 16)) / 4)
inner = x @ gate
expected = inner / (1 + np.exp(-inner)) * (x @ up) @ down

columns, rows = jax.P(None, "model"), jax.P("model", None)
mesh = jax.make_mesh((n,), ("model",))
with jax.set_mesh(mesh), jax.default_matmul_precision("highest"):
    arguments = (
        jax.device_put(x, jax.P()),
        jax.device_put(gate, columns),
        jax.device_put(up, columns),
        jax.device_put(down, rows),
    )
    specs = (jax.P(), columns, columns, rows)
    sharded = jax.shard_map(mlp, in_specs=specs, out_specs=jax.P())
    program = jax.jit(sharded).lower(*arguments).compile()
    found = jax.device_get(program(*arguments))
error = abs(found - expected).max()
message = f"the output is wrong by {error:.3f}: what may be added, and when?"
assert error < 1e-3, message
used = count_collectives(program.as_text())
message = f"the program has {used}, expected one all-reduce"
assert used in ({"all-reduce": 1}, {}), message
print(f"{n} devices computed one MLP with", sum(used.values()), "all-reduce")
