"""Vision and diffusion of public repositories."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from checkouts import array, enter, key, put, spread
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


class StandInPatches:
    """The field of the configuration that names the size of a patch."""

    def __init__(self, size):
        self.size = size


def big_vision(devices):
    """Yield the gradient of ViT-B/16 and of MLP-Mixer of big_vision, layers in a scan."""
    enter("google-research/big_vision", ".", without=("big_vision.utils",))
    from big_vision.models import vit

    model = vit.Model(num_classes=1000, variant="B/16", scan=True, dtype_mm="bfloat16")
    params = jax.eval_shape(lambda seed: model.init(seed, jnp.ones((1, 224, 224, 3))), key())

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
        return jnp.mean(
            (model.apply(params, noisy, time, labels, train=True, rngs=rngs) - noise) ** 2
        )

    params = jax.eval_shape(make, key())
    arguments = put(devices[0], params, key(), array((32, 32, 32, 4)), array((32,), "int32"))
    yield "DiT-B/2 gradient", jax.grad(loss), arguments


def programs(devices):
    """Yield the programs of each repository."""
    for repository in (big_vision, vision_transformer, diffusion):
        yield from repository(devices)
