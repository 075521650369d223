"""A Llama as a training step that is only traced, so that it may have real models' sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Llama:
    """The sizes of a model, from its published configuration."""

    layers: int
    hidden: int
    mlp: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int

    @property
    def matrix_parameters(self) -> int:
        """The number of parameters that multiply each token: all but the embedding."""
        attention = self.hidden * self.head * (2 * self.heads + 2 * self.kv_heads)
        layer = attention + 3 * self.hidden * self.mlp
        return self.layers * layer + self.hidden * self.vocabulary


MODELS = {
    "llama-3.1-8b": Llama(32, 4096, 14336, 32, 8, 128, 128256),
    "llama-3.1-70b": Llama(80, 8192, 28672, 64, 8, 128, 128256),
    "llama-3.1-405b": Llama(126, 16384, 53248, 128, 8, 128, 128256),
    "llama-2-70b": Llama(80, 8192, 28672, 64, 8, 128, 32000),
    "mistral-7b": Llama(32, 4096, 14336, 32, 8, 128, 32000),
    "tiny": Llama(2, 64, 128, 4, 2, 16, 256),
}


def arguments(model: Llama, batch: int, length: int, kind: Any = jnp.bfloat16) -> tuple[Any, Any]:
    """Return abstract parameters, stacked over all layers, and tokens."""

    def weight(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind)

    one = model
    query, key = one.heads * one.head, one.kv_heads * one.head
    layers = {
        "query": weight(one.layers, one.hidden, query),
        "key": weight(one.layers, one.hidden, key),
        "value": weight(one.layers, one.hidden, key),
        "out": weight(one.layers, query, one.hidden),
        "gate": weight(one.layers, one.hidden, one.mlp),
        "up": weight(one.layers, one.hidden, one.mlp),
        "down": weight(one.layers, one.mlp, one.hidden),
    }
    params = {
        "embed": weight(one.vocabulary, one.hidden),
        "layers": layers,
        "head": weight(one.hidden, one.vocabulary),
    }
    return params, jax.ShapeDtypeStruct((batch, length), jnp.int32)


def make_logits(model: Llama) -> Any:
    """Return the function from parameters and tokens to logits; weights are cast to bfloat16."""

    def block(x: Any, layer: Any) -> tuple[Any, None]:
        layer = {name: weight.astype(jnp.bfloat16) for name, weight in layer.items()}

        def split(name: str) -> Any:
            return (x @ layer[name]).reshape(*x.shape[:2], -1, model.head)

        mixed = jax.nn.dot_product_attention(
            split("query"), split("key"), split("value"), is_causal=True
        )
        x += mixed.reshape(*x.shape[:2], -1) @ layer["out"]
        x += (jax.nn.silu(x @ layer["gate"]) * (x @ layer["up"])) @ layer["down"]
        return x, None

    def logits(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens].astype(jnp.bfloat16)
        x, _ = jax.lax.scan(block, x, params["layers"])
        return x @ params["head"].astype(jnp.bfloat16)

    return logits


def make_decoder(model: Llama) -> Any:
    """Return the function that chooses a token after each of `tokens: int32[b, 1]`.

    It has no cache, so it reads less memory than a decoder with one.
    """
    logits = make_logits(model)
    return lambda params, tokens: logits(params, tokens).argmax(-1)


def make_gradient(model: Llama) -> Any:
    """Return the function that computes the gradient of the loss."""
    logits = make_logits(model)

    def loss(params: Any, tokens: Any) -> Any:
        scores = jax.nn.log_softmax(logits(params, tokens).astype(jnp.float32))
        return -jnp.take_along_axis(scores, tokens[..., None], -1).mean()

    return jax.grad(loss)
