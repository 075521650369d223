"""Keep the averages of an optimizer in the memory of the host.

`offload` takes a tree of shardings, as `jax.tree.map(lambda x: x.sharding,
state)` makes it, and returns the tree with memory kind `pinned_host` for
the averages and unchanged for everything else. An average is a leaf below
`mean` or `square`.

`make_step` returns a jitted step of AdamW without weight decay, whose state
is placed by these shardings, before and after. Inside it, the averages
must be on the device: bring them there with `jax.device_put`.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


def offload(shardings):
    """Return the shardings of a state whose averages are on the host."""
    return shardings  # fix this


def make_step(shardings):
    """Return a step whose state is on the host in part."""
    on_host = offload(shardings)

    @partial(jax.jit, out_shardings=on_host, donate_argnums=0)
    def step(state, gradient):
        mean, square = state["mean"], state["square"]  # and this
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(
            lambda s, g: 0.99 * s + 0.01 * g**2, square, gradient
        )
        params = jax.tree.map(
            lambda p, m, s: p - 0.01 * m / (jnp.sqrt(s) + 1e-6),
            state["params"],
            mean,
            square,
        )
        return {"params": params, "mean": mean, "square": square}

    return step


# Judged below: leave this part as it is.

mesh = jax.make_mesh((jax.device_count(),), ("data",))
sharded = jax.NamedSharding(mesh, jax.P("data"))
ones = {"w": jnp.ones((64, 8)), "b": jnp.ones(64)}
zeros = jax.tree.map(jnp.zeros_like, ones)
plain = {"params": ones, "mean": zeros, "square": zeros}
shardings = jax.tree.map(lambda leaf: sharded, plain)
expected = {"params": "device", "mean": "pinned_host", "square": "pinned_host"}


def kinds(tree):
    return {
        name: sorted({leaf.memory_kind for leaf in jax.tree.leaves(part)})
        for name, part in tree.items()
    }


wanted = {name: [kind] for name, kind in expected.items()}
found = kinds(offload(shardings))
assert found == wanted, f"memory kinds {found}, expected {wanted}"

state = jax.device_put(plain, offload(shardings))
step = make_step(shardings)
gradient = jax.tree.map(lambda leaf: 0.5 * leaf, ones)
gradient = jax.device_put(gradient, sharded)
for _ in range(3):
    state = step(state, gradient)
found = kinds(jax.tree.map(lambda leaf: leaf.sharding, state))
assert found == wanted, f"after 3 steps {found}, expected {wanted}"

mean, square, param = 0.0, 0.0, 1.0
for _ in range(3):
    mean = 0.9 * mean + 0.1 * 0.5
    square = 0.99 * square + 0.01 * 0.25
    param -= 0.01 * mean / (np.sqrt(square) + 1e-6)
found = float(np.asarray(state["params"]["w"])[0, 0])
assert abs(found - param) < 1e-5, f"a parameter is {found}, expected {param}"
program = str(jax.make_jaxpr(step)(state, gradient))
moved = program.count("device_put")
assert moved, "the step computes with arrays of the host: no device_put in it"
print("averages on", state["mean"]["w"].sharding.memory_kind)
