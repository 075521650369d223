"""A Llama as a training step, which is only traced: its sizes may be those of real models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Llama:
    """Sizes of a model, as its published configuration names them."""

    layers: int
    hidden: int
    mlp: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int

    @property
    def matrix_parameters(self) -> int:
        """Parameters that each token is multiplied with: all but the embedding."""
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


def arguments(model: Llama, batch: int, length: int) -> tuple[Any, Any]:
    """Return abstract parameters, those of all layers stacked, and tokens."""

    def weight(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16)

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


def make_gradient(model: Llama) -> Any:
    """Return the function that computes the gradient of the loss."""

    def block(x: Any, layer: Any) -> tuple[Any, None]:
        def split(name: str) -> Any:
            return (x @ layer[name]).reshape(*x.shape[:2], -1, model.head)

        mixed = jax.nn.dot_product_attention(
            split("query"), split("key"), split("value"), is_causal=True
        )
        x += mixed.reshape(*x.shape[:2], -1) @ layer["out"]
        x += (jax.nn.silu(x @ layer["gate"]) * (x @ layer["up"])) @ layer["down"]
        return x, None

    def loss(params: Any, tokens: Any) -> Any:
        x, _ = jax.lax.scan(block, params["embed"][tokens], params["layers"])
        logits = jax.nn.log_softmax((x @ params["head"]).astype(jnp.float32))
        return -jnp.take_along_axis(logits, tokens[..., None], -1).mean()

    return jax.grad(loss)
