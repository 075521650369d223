"""A small training loop, recorded by the profiler.

`python profiled.py` writes the profile to the folder `traces`.
"""

import sys
import time

import jax
import jax.numpy as jnp

STEPS = 4
WIDTH = 512


def loss(params, x):
    """Return a number that falls, after two products for each scope."""
    with jax.named_scope("attn"):
        x = jax.nn.softmax(x @ params["attn"]) @ params["attn"].T
    with jax.named_scope("mlp"):
        x = jnp.tanh(x @ params["up"]) @ params["down"]
    return jnp.mean(x**2)


@jax.jit
def train_step(params, x):
    """Return the parameters after one step of gradient descent."""
    grads = jax.grad(loss)(params, x)
    return jax.tree.map(lambda param, grad: param - 0.1 * grad, params, grads)


def load_batch(rows):
    """Return a batch, after a wait as for a slow disk."""
    time.sleep(0.2)
    return jax.device_put(jnp.ones((rows, WIDTH)), jax.P("data"))


def record(folder):
    """Train for some steps, and write their profile to a folder."""
    jax.set_mesh(jax.make_mesh((jax.device_count(),), ("data",)))
    weight = jax.device_put(0.05 * jnp.eye(WIDTH), jax.P())
    params = {"attn": weight, "up": weight, "down": weight}
    rows = 256 * jax.device_count()
    params = train_step(params, load_batch(rows))  # the step that compiles
    jax.block_until_ready(params)
    with jax.profiler.trace(str(folder)):
        for number in range(STEPS):
            with jax.profiler.StepTraceAnnotation("step", step_num=number):
                with jax.profiler.TraceAnnotation("load_batch"):
                    batch = load_batch(rows)
                with jax.profiler.TraceAnnotation("train_step"):
                    params = train_step(params, batch)
                    jax.block_until_ready(params)


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else "traces")
