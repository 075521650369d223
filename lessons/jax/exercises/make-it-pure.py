"""Make an impure step pure.

`step` depends on more than its arguments. It reads the global `SETTINGS`,
draws noise from a hidden state of NumPy, and appends to the global `HISTORY`.
Under `jax.jit` all three happen once, while JAX traces. Rewrite it so that
everything comes in through the arguments and everything goes out through the
result: the new parameters, and a dictionary with the norm of the update under
the name "norm". The update is `scale` times `params` plus normal noise that
is drawn with `key`.
"""

import jax
import jax.numpy as jnp
import numpy as np

SETTINGS = {"scale": 0.5}
HISTORY = []


def step(params, scale, key):
    """Return (new params: float32[n], {"norm": float32[]}) after a step."""
    noise = np.random.normal(size=params.shape)
    update = SETTINGS["scale"] * params + noise
    norm = jnp.linalg.norm(update)
    HISTORY.append(norm)
    return params - update, {}  # rewrite this function


# Judged below: leave this part as it is.

params = jnp.arange(4.0)
keys = jax.random.split(jax.random.key(0))
hidden_state = np.random.get_state()[1].tolist()
compiled = jax.jit(step)
metrics = compiled(params, 0.5, keys[0])[1]
assert "norm" in metrics, f"the dictionary is {metrics}, expected a norm"
message = f"HISTORY has {len(HISTORY)} entries, expected none"
assert not HISTORY, message
message = "the hidden state of NumPy has changed, expected that it stays"
assert np.random.get_state()[1].tolist() == hidden_state, message

for key in keys:
    for scale in (0.5, 2.0):
        new_params, metrics = compiled(params, scale, key)
        update = np.asarray(scale * params + jax.random.normal(key, (4,)))
        found = np.asarray(params - new_params)
        message = f"with scale {scale} the update is {found.round(2)}, "
        message += f"expected {update.round(2)}"
        assert np.allclose(found, update, atol=1e-4), message
        norm = float(metrics["norm"])
        expected = float(np.linalg.norm(update))
        message = f"the norm is {norm:.3f}, expected {expected:.3f}"
        assert abs(norm - expected) < 1e-3, message
print("two scales and two keys, each with its own update")
