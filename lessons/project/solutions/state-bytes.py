"""How many numbers does AdamW keep for each parameter? The shipped answer
counts the parameter alone.

Only the axis of the mesh that the rule names divides: `mesh[rule]`, and not
the largest one.

A rule may be a tuple. Make every rule one, `rule if isinstance(rule, tuple)
else (rule,)`, and divide by each of its axes.

Learned: What a device holds follows from shapes, rules and the mesh, so you
can choose a sharding before you have a device.
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
            rule = rules.get(name)
            if rule:
                axes = rule if isinstance(rule, tuple) else (rule,)
                numbers //= math.prod(mesh[axis] for axis in axes)
        total += 3 * 4 * numbers
    return total
