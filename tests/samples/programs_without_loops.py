"""Programs of one device without loops, of which the compiler's own FLOPs are complete."""

import jax
import jax.numpy as jnp


def array(*shape):
    """Return an abstract array."""
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def convolve(x, kernel):
    """Return a convolution of images."""
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)


def layers(x, up, down):
    """Return two layers."""
    return jax.nn.relu(x @ up) @ down


def block(weights, x):
    """Return a layer that the backward pass computes again."""
    return jnp.tanh(x @ weights)


def loss(weights, x):
    """Return a loss with rematerialisation."""
    return jax.checkpoint(block)(weights, block(weights, x)).astype(jnp.float32).sum()


def energy(function):
    """Return the sum of squares of a function."""
    return lambda *args: (function(*args).astype(jnp.float32) ** 2).sum()


def causal(query, key, value):
    """Return attention to earlier positions."""
    return jax.nn.dot_product_attention(query, key, value, is_causal=True)


def programs(devices):
    """Yield name, function and arguments of each program."""
    square, query = array(1024, 1024), array(2, 512, 8, 128)
    images = array(8, 56, 56, 64), array(3, 3, 64, 64)
    mlp = array(512, 1024), array(1024, 4096), array(4096, 1024)
    yield "matmul", jnp.matmul, (square, square)
    yield "mlp", layers, mlp
    yield "mlp, gradient", jax.grad(energy(layers), (0, 1, 2)), mlp
    yield "attention", jax.nn.dot_product_attention, (query, query, query)
    yield "attention, causal", causal, (query, query, query)
    yield "convolution", convolve, images
    yield "convolution, gradient", jax.grad(energy(convolve), (0, 1)), images
    yield "checkpoint, gradient", jax.grad(loss), (square, array(512, 1024))
