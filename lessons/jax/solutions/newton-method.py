"""Which transformation of JAX returns the derivative of `f` as a function?

It is `jax.grad(f)`. For `roots` you need a second one, which turns a
function of one guess into a function of an array of guesses.

`jax.vmap(function)(guesses)` maps over the first axis. Its function must take
the guess alone, as `lambda guess: root(f, guess)` does.

Learned: `grad` and `vmap` compose, so a method that is written for one number
and uses a derivative works for a whole array without another line.
"""

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 8


def root(f, guess):
    """Return float32[]: the root of `f` near `guess`: float32[]."""
    derivative = jax.grad(f)
    for _ in range(STEPS):
        guess = guess - f(guess) / derivative(guess)
    return guess


def roots(f, guesses):
    """Return float32[n]: the root near each of `guesses`: float32[n]."""
    return jax.vmap(lambda guess: root(f, guess))(guesses)
