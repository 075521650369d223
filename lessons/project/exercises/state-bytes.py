"""Predict how many bytes of state one device will hold.

`state_bytes` gets the shape of each parameter with the logical names of its
axes, the rules (a mesh axis, a tuple of them, or None for each name), and
the size of each mesh axis. Each parameter is float32, AdamW keeps two more
numbers for it, and both are sharded like it. The step count does not matter
here. Sharded sizes are divided by the product of their mesh axes.
"""

import math

import configs
import jax
import transformer


def state_bytes(params, rules, mesh):
    """Return the bytes of parameters and averages on one device.

    params: a list of (shape, names), such as ((64, 192), ("embed", "mlp"))
    rules: such as {"embed": "data", "mlp": None}
    mesh: such as {"data": 8}
    """
    total = 0
    for shape, names in params:
        numbers = math.prod(shape)
        for name in names:
            if rules.get(name):
                numbers //= max(mesh.values())  # your code here
        total += 4 * numbers  # and here
    return total


# Judged below: leave this part as it is.

described = jax.tree.leaves(transformer.describe(configs.large()))
params = [(param.shape, param.axes) for param in described]
CASES = {
    "data parallel": ({}, {"data": 8}, 11_904_344_064),
    "FSDP": ({"embed": "data"}, {"data": 8}, 1_488_043_008),
    "FSDP within groups": (
        {"embed": "shard"},
        {"group": 2, "shard": 4},
        2_976_086_016,
    ),
    "over both axes": (
        {"embed": ("data", "model")},
        {"data": 4, "model": 8},
        372_010_752,
    ),
    "tensor parallel": (
        {"heads": "model", "mlp": "model", "vocab": "model"},
        {"data": 2, "model": 4},
        2_976_768_000,
    ),
}
for name, (rules, mesh, expected) in CASES.items():
    found = state_bytes(params, rules, mesh)
    message = f"{name}: found {found / 2**30:.3f} GiB on a device, "
    message += f"expected {expected / 2**30:.3f}"
    assert found == expected, message
print("five ways to place the state of the large model, all predicted")
