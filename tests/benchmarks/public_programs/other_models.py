"""Vision, diffusion, physics and reinforcement learning of public repositories."""

from __future__ import annotations

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from checkouts import StandIn, array, enter, key, load, put, spread
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def vision_transformer(devices):
    """Yield the gradient of ViT-B/16 of vision_transformer, with the batch over all devices."""
    enter("google-research/vision_transformer", ".")
    from vit_jax import models_vit

    model = models_vit.VisionTransformer(
        num_classes=1000,
        patches=StandInPatches((16, 16)),
        transformer={"num_layers": 2, "mlp_dim": 3072, "num_heads": 12, "dropout_rate": 0.0},
        hidden_size=768,
    )
    params = jax.eval_shape(
        lambda seed: model.init(seed, jnp.ones((1, 224, 224, 3)), train=False), key()
    )

    def loss(params, images, labels):
        logits = model.apply(params, images, train=False)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))

    mesh = Mesh(np.array(devices), ("batch",))
    images, labels = array((512, 224, 224, 3)), array((512, 1000))
    arguments = spread(mesh, P(), params) + spread(mesh, P("batch"), images, labels)
    yield "ViT-B/16 gradient", jax.grad(loss), arguments


BRAX = ("brax", "brax.envs", "brax.envs.wrappers", "brax.envs.wrappers.training", "navix")


class StandInPatches:
    """The field of the configuration that names the size of a patch."""

    def __init__(self, size):
        self.size = size


def big_vision(devices):
    """Yield the gradient of ViT-B/16 and of MLP-Mixer of big_vision, layers in a scan."""
    enter("google-research/big_vision", ".", without=("big_vision.utils",))
    from big_vision.models import vit

    model = vit.Model(num_classes=1000, variant="B/16", scan=True, dtype_mm="bfloat16")
    params = jax.eval_shape(
        lambda seed: model.init(seed, jnp.ones((1, 224, 224, 3))), key()
    )

    def loss(params, images, labels):
        logits, _ = model.apply(params, images)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))

    mesh = Mesh(np.array(devices), ("batch",))
    images, labels = array((1024, 224, 224, 3)), array((1024, 1000))
    arguments = spread(mesh, P(), params) + spread(mesh, P("batch"), images, labels)
    yield "big_vision ViT-B/16 gradient", jax.grad(loss), arguments

    from big_vision.models import mlp_mixer

    mixer = mlp_mixer.Model(num_classes=1000, variant="S/16", num_blocks=4)
    images = array((128, 224, 224, 3))
    params = jax.eval_shape(lambda seed: mixer.init(seed, jnp.ones((1, 224, 224, 3))), key())
    logits = partial(mixer.apply, train=False)
    yield "big_vision Mixer-S/16 logits", logits, put(devices[0], params, images)


def diffusion(devices):
    """Yield the loss's gradient of a diffusion transformer, DiT-B/2 of 32 x 32 latents."""
    enter("kvfrans/jax-diffusion-transformer", ".")
    import diffusion_transformer
    from schedulers import GaussianDiffusion

    sizes = {"patch_size": 2, "hidden_size": 768, "depth": 2, "num_heads": 12, "mlp_ratio": 4}
    model = diffusion_transformer.DiT(**sizes, class_dropout_prob=0.1, num_classes=1000)
    scheduler = GaussianDiffusion(1000)

    def make(seed):
        shapes = jnp.ones((1, 32, 32, 4)), jnp.ones((1,), int), jnp.ones((1,), int)
        return model.init({"params": seed, "label_dropout": seed}, *shapes, train=True)

    def loss(params, seed, images, labels):
        time_key, noise_key, label_key = jax.random.split(seed, 3)
        time = jax.random.randint(time_key, (images.shape[0],), 0, 1000)
        noise = jax.random.normal(noise_key, images.shape)
        noisy = scheduler.q_sample(images, time, noise)
        rngs = {"label_dropout": label_key}
        return jnp.mean((model.apply(params, noisy, time, labels, train=True, rngs=rngs) - noise) ** 2)

    params = jax.eval_shape(make, key())
    arguments = put(devices[0], params, key(), array((32, 32, 32, 4)), array((32,), "int32"))
    yield "DiT-B/2 gradient", jax.grad(loss), arguments


def physics(devices):
    """Yield the gradient of a network that solves Burgers' equation."""
    jax.tree_map = jax.tree.map  # JAX had it until 0.4.26
    enter("PredictiveIntelligenceLab/jaxpi", ".", without=("jaxpi.samplers",))
    folder = enter("PredictiveIntelligenceLab/jaxpi") / "examples/burgers"
    models = load("burgers", folder / "models.py")
    config = load("burgers_config", folder / "configs/default.py").get_config()
    model = models.Burgers(config, jnp.zeros(256), jnp.linspace(0, 1, 100), jnp.linspace(-1, 1, 256))
    params = jax.tree.map(lambda leaf: array(leaf.shape[1:]), model.state.params)
    batch = array((config.training.batch_size_per_device, 2))
    weights = {"ics": 1.0, "res": 1.0}
    step = jax.grad(lambda params, batch: model.loss(params, weights, batch))
    yield "jaxpi burgers gradient", step, put(devices[0], params, batch)


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


def recurrence(devices):
    """Yield RecurrentGemma's Pallas kernel for a linear recurrence, and its gradient."""
    types = ("recurrentgemma.jax.array_typing",)
    enter("google-deepmind/recurrentgemma", ".", without=types)
    sys.modules[types[0]].typed = lambda function: function
    from recurrentgemma.jax import pallas

    x = array((4, 2048, 2560))
    yield "recurrentgemma pallas_lru", pallas.pallas_lru, put(devices[0], x, x)


def serving(devices):
    """Yield kernels of vLLM's TPU backend."""
    checkout = enter("vllm-project/tpu-inference")
    for name in ("tpu_inference", "tpu_inference.logger", "tpu_inference.utils"):
        sys.modules[name] = StandIn(name)
    sys.modules["tpu_inference"].__path__ = [str(checkout / "tpu_inference")]
    from tpu_inference.kernels.megablox.gmm_v2 import gmm_v2
    from tpu_inference.kernels.quantized_matmul.kernel import quantized_matmul_kernel

    x, w = array((1024, 4096), "bfloat16"), array((14336, 4096), "int8")
    int8 = partial(quantized_matmul_kernel, x_q_dtype=jnp.int8)
    yield "tpu-inference quantized_matmul", int8, put(devices[0], x, w, array((14336,)))

    x, w = array((1024, 2048), "bfloat16"), array((16, 2048, 1536), "bfloat16")
    yield "tpu-inference gmm_v2", gmm_v2, put(devices[0], x, w, array((16,), "int32"))


def programs(devices):
    """Yield the programs of each repository."""
    for repository in (
        serving,
        recurrence,
        physics,
        state_space,
        policies,
        diffusion,
        big_vision,
        vision_transformer,
    ):
        yield from repository(devices)
