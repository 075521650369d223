"""Training steps of Flax's own examples, with the shapes of their configurations."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from checkouts import array, enter, key, load, put, spread
from flax.training import checkpoints  # noqa: F401  it looks for the real TensorFlow
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

DATA = ("tensorflow", "tensorflow_datasets", "input_pipeline", "flax.metrics.tensorboard")
LOGS = ("clu", "clu.metric_writers", "clu.periodic_actions")
EXAMPLES = enter("google/flax", without=DATA + LOGS) / "examples"


def load_example(name, *modules, without=()):
    """Return an example's modules; all examples call them the same."""
    import sys

    enter("google/flax", f"examples/{name}", without=without)
    for module in ("models", "train", "utils", "configs", "agent", "decode", "bleu"):
        sys.modules.pop(module, None)
    return [load(one, EXAMPLES / name / f"{one}.py") for one in modules]


def mnist(devices):
    """Yield the convolutional network's step, whose model and optimizer are split by NNX."""
    from flax import nnx

    (train,) = load_example("mnist", "train")

    def make():
        model = train.CNN(rngs=nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.sgd(0.005, 0.9), wrt=nnx.Param)
        metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
        return model, optimizer, metrics, nnx.Rngs(0)

    graph, state = nnx.split(nnx.eval_shape(make))

    def step(state, batch):
        model, optimizer, metrics, rngs = nnx.merge(graph, state)
        train.train_step(model, optimizer, metrics, batch, rngs)
        return nnx.state((model, optimizer, metrics, rngs))

    batch = {"image": array((128, 28, 28, 1)), "label": array((128,), "int32")}
    yield "mnist train_step", step, put(devices[0], state, batch)


def imagenet(devices):
    """Yield ResNet-50's step under `shard_map`, where the example has `pmap`."""
    models, train = load_example("imagenet", "models", "train")
    config = load("default", EXAMPLES / "imagenet/configs/default.py").get_config()
    config.half_precision = True
    model = train.create_model(model_cls=models.ResNet50, half_precision=True)
    rate = train.create_learning_rate_fn(config, 0.1, 1000)
    make = partial(train.create_train_state, config=config, model=model, image_size=224)
    state = jax.eval_shape(partial(make, learning_rate_fn=rate), key())
    mesh = Mesh(np.array(devices), ("batch",))
    step = jax.shard_map(
        partial(train.train_step, learning_rate_fn=rate),
        mesh=mesh,
        in_specs=(P(), P("batch")),
        out_specs=P(),
        check_vma=False,
    )
    size = 128 * len(devices)
    batch = {"image": array((size, 224, 224, 3)), "label": array((size,), "int32")}
    arguments = spread(mesh, P(), state) + spread(mesh, P("batch"), batch)
    yield "imagenet train_step", jax.jit(step, donate_argnums=0), arguments


def language_model(devices):
    """Yield the step of the language model of one billion words."""
    models, train = load_example("lm1b", "models", "train")
    config = models.TransformerConfig(
        vocab_size=30_000, output_vocab_size=30_000, dtype=jnp.bfloat16, max_len=512
    )
    model = models.TransformerLM(config.replace(deterministic=True))
    rate = train.create_learning_rate_schedule(learning_rate=0.0016, warmup_steps=1000)

    def make(seed):
        from flax.training import train_state

        params = model.init(seed, jnp.ones((1, 128)))["params"]
        optimizer = optax.adamw(rate, b1=0.9, b2=0.98, eps=1e-9, weight_decay=0.1)
        return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)

    import flax.linen as nn

    state = nn.unbox(jax.eval_shape(make, key()))
    step = partial(train.train_step, config=config, learning_rate_fn=rate)
    mesh = Mesh(np.array(devices), ("data",))
    (batch,) = spread(mesh, P("data"), {"inputs": array((32 * len(devices), 128), "int32")})
    state, seed = spread(mesh, P(), state, key())

    def run(state, batch, seed):
        return step(state, batch, dropout_rng=seed)

    yield "lm1b train_step", jax.jit(run, donate_argnums=0), (state, batch, seed)


def translation(devices):
    """Yield the step of the translator."""
    models, train = load_example("wmt", "models", "train", without=("bleu", "decode"))
    config = models.TransformerConfig(
        vocab_size=32_000,
        output_vocab_size=32_000,
        share_embeddings=True,
        logits_via_embedding=True,
        dtype=jnp.bfloat16,
        emb_dim=1024,
        num_heads=16,
        num_layers=6,
        qkv_dim=1024,
        mlp_dim=4096,
        max_len=256,
    )
    model = models.Transformer(config.replace(deterministic=True))
    rate = train.create_learning_rate_schedule(learning_rate=0.002, warmup_steps=1000)

    def make(seed):
        params = model.init(seed, jnp.ones((1, 256)), jnp.ones((1, 256)))["params"]
        optimizer = optax.adamw(rate, b1=0.9, b2=0.98, eps=1e-9, weight_decay=0.0)
        return train.TrainState.create(
            apply_fn=model.apply, params=params, tx=optimizer, dynamic_scale=None
        )

    mesh = Mesh(np.array(devices), ("batch",))

    def run(state, batch, seed):
        return train.train_step(state, batch, config, rate, 0.1, dropout_rng=seed)

    step = jax.shard_map(
        run, mesh=mesh, in_specs=(P(), P("batch"), P()), out_specs=P(), check_vma=False
    )
    size = (32 * len(devices), 256)
    batch = {"inputs": array(size, "int32"), "targets": array(size, "int32")}
    state, seed = spread(mesh, P(), jax.eval_shape(make, key()), key())
    (batch,) = spread(mesh, P("batch"), batch)
    yield "wmt train_step", jax.jit(step, donate_argnums=0), (state, batch, seed)


def autoencoder(devices):
    """Yield the step of the variational autoencoder."""
    models, train = load_example("vae", "models", "train")

    def make(seed):
        from flax.training import train_state

        model = models.model(20)
        params = model.init(seed, jnp.ones((128, 784)), seed)["params"]
        return train_state.TrainState.create(
            apply_fn=model.apply, params=params, tx=optax.adam(1e-3)
        )

    state = jax.eval_shape(make, key())
    step = jax.jit(partial(train.train_step, latents=20))
    yield "vae train_step", step, put(devices[0], state, array((128, 784)), key())


def policy(devices):
    """Yield one epoch of PPO over the frames of eight agents."""
    models, train = load_example(
        "ppo", "models", "ppo_lib", without=("agent", "test_episodes", "env_utils")
    )
    model = models.ActorCritic(num_outputs=4)

    def make(seed):
        from flax.training import train_state

        params = model.init(seed, jnp.ones((1, 84, 84, 4)))["params"]
        return train_state.TrainState.create(
            apply_fn=model.apply, params=params, tx=optax.adam(2.5e-4)
        )

    frames = 8 * 128
    data = (array((frames, 84, 84, 4), "uint8"), array((frames,), "int32"))
    trajectories = data + tuple(array((frames,)) for _ in range(3))

    def step(state, trajectories):
        return train.train_step(
            state, trajectories, 256, clip_param=0.1, vf_coeff=0.5, entropy_coeff=0.01
        )

    state = jax.eval_shape(make, key())
    yield "ppo train_step", step, put(devices[0], state, trajectories)


def sentiment(devices):
    """Yield the step of the classifier of sentences, an LSTM in both directions."""
    _, train = load_example("sst2", "models", "train")
    config = load("default", EXAMPLES / "sst2/configs/default.py").get_config()
    config.vocab_size = 13_000
    model = train.model_from_config(config)
    state = jax.eval_shape(partial(train.create_train_state, config=config, model=model), key())
    batch = {
        "token_ids": array((64, 60), "int32"),
        "length": array((64,), "int32"),
        "label": array((64,)),
    }
    seeds = {"dropout": key()}
    yield "sst2 train_step", train.train_step, put(devices[0], state, batch, seeds)


def programs(devices):
    """Yield the step of each example."""
    examples = (
        mnist,
        imagenet,
        language_model,
        translation,
        autoencoder,
        policy,
        sentiment,
    )
    for example in examples:
        yield from example(devices)
