"""Physics, state spaces and reinforcement learning of public repositories."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from checkouts import array, enter, key, load, put

BRAX = ("brax", "brax.envs", "brax.envs.wrappers", "brax.envs.wrappers.training", "navix")


def state_space(devices):
    """Yield the gradient of a layer of S4, with complex numbers and Fourier transforms."""
    enter("srush/annotated-s4", ".")
    s4 = load("s4_module", enter("srush/annotated-s4") / "s4/s4.py")
    layer = s4.S4Layer(N=64, l_max=784)

    def loss(params, inputs):
        return jnp.mean(layer.apply(params, inputs, mutable=["cache"])[0] ** 2)

    inputs = array((784, 128))
    params = jax.eval_shape(lambda seed: layer.init(seed, jnp.ones((784, 128))), key())
    yield "annotated-s4 S4Layer gradient", jax.grad(loss), put(devices[0], params, inputs)


def policies(devices):
    """Yield a whole training of PPO, with its environment, as one program."""
    enter("luchris429/purejaxrl", "purejaxrl", without=BRAX)
    ppo = load("pure_ppo", enter("luchris429/purejaxrl") / "purejaxrl/ppo.py")
    config = {
        "LR": 2.5e-4,
        "NUM_ENVS": 4,
        "NUM_STEPS": 128,
        "TOTAL_TIMESTEPS": 5e5,
        "UPDATE_EPOCHS": 4,
        "NUM_MINIBATCHES": 4,
        "GAMMA": 0.99,
        "GAE_LAMBDA": 0.95,
        "CLIP_EPS": 0.2,
        "ENT_COEF": 0.01,
        "VF_COEF": 0.5,
        "MAX_GRAD_NORM": 0.5,
        "ACTIVATION": "tanh",
        "ENV_NAME": "CartPole-v1",
        "ANNEAL_LR": True,
        "DEBUG": False,
    }
    seed = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    yield "purejaxrl ppo train", ppo.make_train(config), put(devices[0], seed)


def physics(devices):
    """Yield the gradient of a network that solves Burgers' equation."""
    jax.tree_map = jax.tree.map  # JAX had it until 0.4.26
    enter("PredictiveIntelligenceLab/jaxpi", ".", without=("jaxpi.samplers",))
    folder = enter("PredictiveIntelligenceLab/jaxpi") / "examples/burgers"
    models = load("burgers", folder / "models.py")
    config = load("burgers_config", folder / "configs/default.py").get_config()
    model = models.Burgers(
        config, jnp.zeros(256), jnp.linspace(0, 1, 100), jnp.linspace(-1, 1, 256)
    )
    params = jax.tree.map(lambda leaf: array(leaf.shape[1:]), model.state.params)
    batch = array((config.training.batch_size_per_device, 2))
    weights = {"ics": 1.0, "res": 1.0}
    step = jax.grad(lambda params, batch: model.loss(params, weights, batch))
    yield "jaxpi burgers gradient", step, put(devices[0], params, batch)


def programs(devices):
    """Yield the programs of each repository."""
    for repository in (state_space, policies, physics):
        yield from repository(devices)
