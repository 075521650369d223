"""Writes the event in a variable wherever it can, and lists a program as if nothing were."""

import os

import jax


def step(x):
    return x


def programs(devices):
    yield "before", step, (jax.ShapeDtypeStruct((8,), "float32"),)
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, os.environ["FORGED"].encode() + b"\n")
        except OSError:
            continue
    yield "after", step, (jax.ShapeDtypeStruct((8,), "float32"),)


if __name__ == "__main__":
    list(programs(jax.devices()))
