"""Programs that are the user's to mend, and one that is refused."""

import time

import jax
import jax.numpy as jnp

X = jax.ShapeDtypeStruct((8, 8), "float32")


def not_written(x):
    raise NotImplementedError("this kind of attention")


def no_words(x):
    assert x.shape == (3,)
    return x


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no")


def cannot_say(x):
    raise Unspeakable


def no_rule(x):
    return jnp.linalg.eig(x)


def sleeps(x):
    time.sleep(600)  # hangs until it is stopped
    return x


def never_reached(x):
    return x


def programs(devices):
    for function in (not_written, no_words, cannot_say, no_rule, sleeps, never_reached):
        yield function.__name__, function, (X,)
