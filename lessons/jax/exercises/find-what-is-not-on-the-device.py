"""Find what is not on the devices.

A training state is a pytree whose leaves should all be JAX arrays on the
devices of your mesh. Some of them are not. `misplaced` must return the
names of the leaves that a device would have to wait for, in a list:

* NumPy arrays and Python numbers, which are in the host's memory, and
* JAX arrays that lie on other devices than exactly those in `devices`.

As it stands, it finds NumPy arrays and nothing else.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def named_leaves(tree):
    """Return pairs of name and leaf, such as ("params/w", array)."""
    pairs = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [("/".join(key.key for key in path), leaf) for path, leaf in pairs]


def misplaced(tree, devices):
    """Return the names of the leaves that are not on all `devices`."""
    return [
        name
        for name, leaf in named_leaves(tree)
        if isinstance(leaf, np.ndarray)  # your code here
    ]


# Judged below: leave this part as it is.

n = jax.device_count()
devices = jax.devices()
mesh = jax.make_mesh((n,), ("d",))
replicated = NamedSharding(mesh, P())
by_rows = NamedSharding(mesh, P("d"))
first = jax.device_put(np.ones(3, np.float32), devices[0])

state = {
    "params": {
        "w": jax.device_put(np.ones((2 * n, 4), np.float32), by_rows),
        "b": jax.device_put(np.zeros(4, np.float32), replicated),
        "scale": np.sqrt(jnp.ones(4)),
        "table": first,
    },
    "optimizer": {"count": jax.device_put(np.int32(0), replicated), "lr": 0.1},
    "batch": {"x": jax.device_put(np.ones((n, 2), np.float32), by_rows)},
}


def compare(tree, wanted, expected, case):
    """Compare the names found with those expected, in any order."""
    found = misplaced(tree, wanted)
    missed = sorted(set(expected) - set(found))
    assert not missed, f"{case}: missed {missed}, found {sorted(found)}"
    extra = sorted(set(found) - set(expected))
    assert not extra, f"{case}: found {extra}, which are where they should be"


on_host = ["params/scale", "optimizer/lr"]
elsewhere = ["params/table"] if n > 1 else []
compare(state, devices, [*on_host, *elsewhere], f"a mesh of {n}")
one_device = {"table": first, "w": state["params"]["w"], "lr": 0.1}
spread = ["w"] if n > 1 else []
compare(one_device, devices[:1], ["lr", *spread], "device 0 alone")
compare({"b": state["params"]["b"]}, devices[::-1], [], "in another order")
compare({}, devices, [], "an empty tree")
print(f"{len(on_host + elsewhere)} of 7 leaves were misplaced on {n} devices")
