"""Meshes within and between hosts are exact."""

import jax

from tpustarter.checks.jax import _axes, _slices

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.2
LESSON = "slices/distributed"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
AFTER = ["jax.slice_program"]


def programs(devices):
    """Yield one program over a mesh with a row for each host: `x: int32[h, l, w]`."""
    yield from _axes.programs(_slices.grid(devices))


def run():
    """Compare the results of this host's devices along both axes with NumPy's."""
    grid = _slices.grid(jax.devices())
    yield from _axes.findings("SLICE", grid, programs(list(grid.flat)), "hosts")
