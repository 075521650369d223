"""The model of the track `project`, which its later lessons use."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import pytest

from tests.support.compiler_flags import fast_compiler
from tpustarter.core import locations
from tpustarter.machine import generations
from tpustarter.probe import program_store

FOLDER = locations.content_folder("lessons") / "project" / "code"
XLA_CACHES = "jax_persistent_cache_enable_xla_caches"
NAMES = ("configs", "corpus", "transformer", "training", "sampling")


@pytest.fixture(scope="module")
def project(kept_programs: Path | None) -> Iterator[Any]:
    """Return JAX and the project's modules, imported for these tests alone.

    JAX loads programs that earlier runs of these tests compiled.
    """
    if not hasattr(jax, "P"):
        pytest.skip(f"the project needs JAX 0.10, and this is JAX {jax.__version__}")
    sys.path.insert(0, str(FOLDER))
    modules: dict[str, ModuleType] = {name: __import__(name) for name in NAMES}
    compiled = {
        name: jax.jit(getattr(modules[module], name), static_argnums=0)
        for module, name in (
            ("transformer", "forward"),
            ("sampling", "prefill"),
            ("sampling", "decode"),
        )
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fast_compiler().items():
            patch.setenv(name, value)
        jax.devices()  # which reads the flags
        jax.config.update(XLA_CACHES, program_store.SETTINGS[XLA_CACHES])
    if kept_programs:
        store = program_store.ProgramStore(kept_programs, "the project's model")
        store.copy_to(Path(jax.config.values["jax_compilation_cache_dir"]))
    yield SimpleNamespace(jax=jax, jnp=jax.numpy, **modules, **compiled)
    if kept_programs:
        store.add_from(Path(jax.config.values["jax_compilation_cache_dir"]))
    sys.path.remove(str(FOLDER))
    for name in NAMES:
        del sys.modules[name]


@pytest.fixture(scope="module")
def small(project: Any) -> Any:
    """Return a config that compiles fast, with parameters and a batch."""
    config = project.configs.tiny(layers=2, length=16)
    params = project.transformer.init(config, project.jax.random.key(0))
    train, _ = project.corpus.load()
    rng = __import__("numpy").random.default_rng(0)
    batch = project.corpus.sample(rng, train, 8, config.length)
    return SimpleNamespace(
        config=config, params=params, batch=batch, adamw=project.training.adamw()
    )


def close(project: Any, a: Any, b: Any, limit: float = 1e-5) -> bool:
    """Return whether all leaves of two trees differ by less than `limit`."""
    differences = project.jax.tree.map(
        lambda x, y: float(abs(x - y).max()), *map(project.jax.device_get, (a, b))
    )
    return max(project.jax.tree.leaves(differences)) < limit


def test_text_survives_encoding(project: Any) -> None:
    """Each character is one token, and validation text is not in the training text."""
    train, validation = project.corpus.load()
    text = (FOLDER / "alice.txt").read_bytes()

    assert text == project.corpus.decode([*train, *validation]).encode()
    assert text.isascii()
    assert b"\r" not in text
    assert max(train.max(), validation.max()) < project.configs.tiny().vocab
    assert 0.09 < len(validation) / len(text) < 0.11


def test_position_ignores_later_tokens(project: Any, small: Any) -> None:
    """Changing token 9 changes the logits from position 9 on, and none before."""
    tokens = small.batch[:, :-1]
    changed = tokens.copy()
    changed[:, 9] = (changed[:, 9] + 1) % small.config.vocab
    before, after = (project.forward(small.config, small.params, one) for one in (tokens, changed))
    difference = abs(before - after).max(axis=(0, 2))

    assert float(difference[:9].max()) == 0.0
    assert float(difference[9:].min()) > 1e-4


@pytest.mark.parametrize("kv_heads", [None, 2])
def test_the_cache_changes_no_logits(kv_heads: int | None, project: Any, small: Any) -> None:
    """A prefill of 10 tokens and single steps give the logits of one pass."""
    tokens = small.batch[:, :-1]
    config = replace(small.config, kv_heads=kv_heads)
    params = project.transformer.init(config, project.jax.random.key(0))
    cache = project.sampling.init_cache(config, len(tokens))
    logits, cache = project.prefill(config, params, tokens[:, :10], cache)
    found = [logits]
    for position in range(10, 16):
        token = tokens[:, position]
        logits, cache = project.decode(config, params, token, position, cache)
        found.append(logits)
    whole = project.forward(config, params, tokens)[:, 9:]

    assert close(project, project.jnp.stack(found, axis=1), whole)
    assert cache["key"].shape[3] == (kv_heads or config.heads)


def test_grouped_queries_match_repeated_keys(project: Any, small: Any) -> None:
    """One key head for two query heads gives the result of two equal key heads."""
    grouped = replace(small.config, kv_heads=2)
    params = project.transformer.init(grouped, project.jax.random.key(0))
    repeated = params["blocks"] | {
        name: project.jnp.repeat(params["blocks"][name], 2, axis=2) for name in ("key", "value")
    }
    tokens = small.batch[:, :-1]
    expected = project.forward(small.config, params | {"blocks": repeated}, tokens)

    assert close(project, project.forward(grouped, params, tokens), expected)
    saved = 2 * grouped.layers * grouped.embed * 2 * grouped.head_dim
    counted = map(project.transformer.param_count, (small.config, grouped))
    assert saved == next(counted) - next(counted)


def test_greedy_text_matches_loop_without_cache(project: Any, small: Any) -> None:
    """`generate` at temperature 0 takes the most likely token at each step."""
    key = project.jax.random.key(0)
    tokens = small.batch[:2, :6]
    found = project.sampling.generate(small.config, small.params, tokens, 5, key, temperature=0.0)
    for _ in range(5):
        logits = project.forward(small.config, small.params, tokens)
        following = logits[:, -1].argmax(axis=-1)
        tokens = project.jnp.concatenate([tokens, following[:, None]], axis=1)

    assert found.tolist() == tokens[:, 6:].tolist()


def test_the_loss_is_the_cross_entropy_and_falls(project: Any, small: Any) -> None:
    """The loss equals the cross-entropy, starts near log(vocab), and falls in training."""
    config, optimizer = small.config, project.training.adamw(warmup=5, steps=60)
    state = project.training.init_state(config, optimizer, project.jax.random.key(0))
    logits = project.forward(config, state["params"], small.batch[:, :-1])
    chosen = project.jnp.take_along_axis(
        project.jax.nn.log_softmax(logits), small.batch[:, 1:, None], axis=-1
    )
    first = float(project.training.evaluate(config, state["params"], small.batch))
    for _ in range(40):
        state, metrics = project.training.train_step(config, optimizer, state, small.batch)

    assert first == pytest.approx(-float(chosen.mean()), rel=1e-5)
    assert first == pytest.approx(math.log(config.vocab), rel=0.05)
    assert float(metrics["loss"]) < 0.6 * first
    assert int(state["step"]) == 40


@pytest.mark.parametrize("name", ["tiny", "base", "large"])
def test_parameters_are_counted_without_making_them(name: str, project: Any) -> None:
    """The lesson's formula and the shapes of `init` give the count of `param_count`."""
    config = getattr(project.configs, name)()
    attention, mlp = 4 * config.embed**2, 3 * config.embed * config.mlp
    blocks = config.layers * (attention + mlp + 2 * config.embed)
    shapes = project.jax.eval_shape(
        lambda: project.transformer.init(config, project.jax.random.key(0))
    )
    counted = sum(math.prod(leaf.shape) for leaf in project.jax.tree.leaves(shapes))

    assert config.vocab * config.embed + blocks + config.embed == counted
    assert counted == project.transformer.param_count(config)
    assert {"tiny": 0.2, "base": 124, "large": 992}[name] == pytest.approx(counted / 1e6, abs=0.5)


def rules(project: Any) -> dict[str, Any]:
    """Return the rules that lessons use, on a mesh of 2 by 4."""
    make, both = project.configs.Rules, ("data", "model")
    return {
        "one device": make(),
        "data parallel": make(batch=both),
        "FSDP": make(batch=both, embed=both),
        "tensor parallel": make(heads="model", mlp="model", vocab="model"),
        "both": make(batch="data", embed="data", heads="model", mlp="model", vocab="model"),
    }


def stepped(
    project: Any, small: Any, name: str, *, mesh: tuple[int, int] = (2, 4), **changes: Any
) -> tuple[Any, Any, Any]:
    """Return parameters, metrics and generated text after one step under a set of rules.

    Parameters and optimizer state are sharded as the rules say.
    """
    config, optimizer = replace(small.config, rules=rules(project)[name], **changes), small.adamw
    with jax.set_mesh(jax.make_mesh(mesh, ("data", "model"))):
        batch = jax.device_put(small.batch, config.spec("batch", None) or jax.P())
        state = project.training.init_state(config, optimizer, jax.random.key(0))
        specs = project.transformer.param_specs(config)
        expected = specs["blocks"]["query"] or jax.P(None, None, None, None)
        for tree in (state["params"], state["opt"][1][0].mu):
            assert expected == jax.typeof(tree["blocks"]["query"]).sharding.spec
        text = project.sampling.generate(
            config, state["params"], batch[:, :6], 4, jax.random.key(1), temperature=0.0
        )
        state, metrics = project.training.train_step(config, optimizer, state, batch)
    return state["params"], metrics, text


@pytest.fixture(scope="module")
def on_one_device(project: Any, small: Any) -> tuple[Any, Any, Any]:
    """Return the step on one device, to compare the others with."""
    return stepped(project, small, "one device", remat=False)


@pytest.mark.parametrize("remat", [False, True])
@pytest.mark.parametrize("name", ["data parallel", "FSDP", "tensor parallel", "both"])
def test_every_sharding_gives_the_same_step(
    name: str, remat: bool, project: Any, small: Any, on_one_device: tuple[Any, Any, Any]
) -> None:
    """Every sharding gives the loss, text and parameters of one device, to within 1e-4."""
    assert close(project, on_one_device, stepped(project, small, name, remat=remat), 1e-4)


def test_grouped_queries_shard_by_heads_of_keys(project: Any, small: Any) -> None:
    """Two key heads are sharded over two devices, each with its query heads."""
    alone = stepped(project, small, "one device", kv_heads=2)

    assert close(project, alone, stepped(project, small, "both", mesh=(4, 2), kv_heads=2), 1e-4)


def test_bfloat16_matmuls_keep_float32_parameters_and_logits(project: Any, small: Any) -> None:
    """The loss is nearly the same, and gradients and logits stay float32."""
    config = replace(small.config, dtype=project.jnp.bfloat16)
    logits = project.forward(config, small.params, small.batch[:, :-1])
    loss, grads = project.jax.jit(
        project.jax.value_and_grad(
            lambda params: project.transformer.loss(config, params, small.batch)
        )
    )(small.params)
    traced = str(
        project.jax.make_jaxpr(project.transformer.forward, static_argnums=0)(
            config, small.params, small.batch[:, :-1]
        )
    )

    assert logits.dtype == project.jnp.float32
    assert {project.jnp.dtype("float32")} == {leaf.dtype for leaf in project.jax.tree.leaves(grads)}
    expected = project.training.evaluate(small.config, small.params, small.batch)
    assert float(loss) == pytest.approx(float(expected), rel=0.02)
    products = [line for line in traced.split("\n") if "dot_general" in line]
    assert len([line for line in products if ":bf16" in line]) >= 7


def test_lesson_peaks_match_those_of_checks(project: Any) -> None:
    """`peaks.py` repeats the table of peaks, because it imports nothing of tpustarter."""
    peaks = __import__("peaks")
    rows = {row.name: row for row in generations.GENERATIONS}

    assert {"v5e", "v5p", "v6e", "tpu7x"} == set(peaks.CHIPS)
    for name, chip in peaks.CHIPS.items():
        assert rows[name].bf16_tflops.value == chip.tflops
        assert rows[name].hbm_gb_per_s.value == chip.gb_per_s


@pytest.mark.parametrize("remat", [False, True])
def test_flops_count_loops_and_recomputation(remat: bool, project: Any, small: Any) -> None:
    """The FLOPs match a formula; a backward pass costs two forward passes, remat up to one."""
    flops = __import__("flops")
    config = replace(small.config, remat=remat)
    tokens = 8 * config.length
    of_layer = 4 * config.embed**2 + 3 * config.embed * config.mlp
    of_layer += 2 * config.length * config.embed  # scores, and what they mix
    logits = config.vocab * config.embed
    forward = 2 * tokens * (config.layers * of_layer + logits)
    loss = project.jax.tree_util.Partial(project.transformer.loss, config)

    assert forward == flops.of_matmuls(loss, small.params, small.batch)
    counted = flops.of_matmuls(project.jax.grad(loss), small.params, small.batch)
    if not remat:
        assert 3 * forward == counted
    else:
        assert 3.5 * forward < counted < 4 * forward
