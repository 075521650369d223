"""Points on three spiral arms that overlap, in batches."""

import grain
import numpy as np

ARMS = 3
ANGLE_NOISE = 0.5
"""Standard deviation of a point's angle, in radians."""


def spirals(rng, count):
    """Return float32[count, 2] points and int32[count] labels."""
    label = rng.integers(0, ARMS, count)
    radius = rng.uniform(0.1, 1.0, count)
    noise = rng.normal(0, ANGLE_NOISE, count)
    angle = 2 * np.pi * (label / ARMS + radius) + noise
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return x.astype(np.float32), label.astype(np.int32)


def lowest_loss(x, label):
    """Return the loss of a model that knows how the points were made."""
    angle = np.arctan2(x[:, 1], x[:, 0])[:, None]
    radius = np.hypot(x[:, 0], x[:, 1])[:, None]
    middle = 2 * np.pi * (np.arange(ARMS) / ARMS + radius)
    off = (angle - middle + np.pi) % (2 * np.pi) - np.pi
    turns = 2 * np.pi * np.arange(-1, 2)[:, None, None]
    density = np.exp(-(((off + turns) / ANGLE_NOISE) ** 2) / 2).sum(axis=0)
    probability = density / density.sum(axis=1, keepdims=True)
    return float(-np.log(probability[np.arange(len(label)), label]).mean())


def make_batches(data, size, seed=0):
    """Return an endless iterator over shuffled batches of `data`."""
    rows = list(zip(*data, strict=True))
    dataset = grain.MapDataset.source(rows).seed(seed).shuffle()
    dataset = dataset.repeat().batch(size, drop_remainder=True)
    return iter(dataset.to_iter_dataset())
