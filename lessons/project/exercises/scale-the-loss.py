"""Scale the loss so that float16 gradients neither vanish nor overflow.

Programs for GPUs that compute in float16 multiply the loss by a scale,
and divide the gradients by it. A good scale is found while training:

* If a gradient is not finite, skip the update, and halve the scale.
* After every `GROWTH_STEPS` good steps in a row, double the scale.

`adjust` takes the scale, the number of good steps in a row, and whether
all gradients are finite. It returns the new scale and the new number of
good steps, which starts again at 0 whenever the scale has changed. All
three are arrays, because `adjust` runs inside a jitted step.
"""

import jax
import jax.numpy as jnp

GROWTH_STEPS = 4


def adjust(scale, good_steps, is_finite):
    """Return the scale of the next step, and the good steps until then."""
    return scale, good_steps + 1  # fix this


# Judged below: leave this part as it is.


@jax.jit
def step(weight, scale, good_steps):
    """Take one step on a loss whose gradient is tiny in float16."""

    def scaled_loss(weight):
        x = jnp.asarray(1e-7, jnp.float16)
        return (weight.astype(jnp.float16) * x) * scale.astype(jnp.float16)

    gradient = jax.grad(scaled_loss)(weight)
    is_finite = jnp.isfinite(gradient)
    update = jnp.where(is_finite, gradient / scale, 0.0)
    scale, good_steps = adjust(scale, good_steps, is_finite)
    return weight - update, scale, good_steps


def follow(scale, outcomes):
    good_steps = jnp.zeros((), jnp.int32)
    scales = []
    for is_finite in outcomes:
        scale, good_steps = jax.jit(adjust)(
            jnp.float32(scale), good_steps, jnp.asarray(is_finite)
        )
        scales.append(float(scale))
    return scales


for outcomes, expected in [
    ([False, False], [512.0, 256.0]),
    ([True] * 5, [1024.0, 1024.0, 1024.0, 2048.0, 2048.0]),
    ([True, True, True, False, True], [1024.0] * 3 + [512.0] * 2),
    ([True] * 8, [1024.0] * 3 + [2048.0] * 4 + [4096.0]),
]:
    found = follow(1024.0, outcomes)
    message = f"finite {outcomes}: scales {found}, expected {expected}"
    assert found == expected, message

scale, good_steps = jnp.float32(2.0**17), jnp.zeros((), jnp.int32)
weight = jnp.ones(())
for _ in range(8):
    weight, scale, good_steps = step(weight, scale, good_steps)
message = f"the weight became {weight}, expected a finite number below 1"
assert jnp.isfinite(weight) and weight < 1, message
print("scale after 8 steps:", float(scale), "weight:", float(weight))
