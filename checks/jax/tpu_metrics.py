"""libtpu metrics report no fault."""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives, _metrics
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding, Hint

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "start/chips-cores-devices"
SOURCE = "https://docs.cloud.google.com/tpu/docs/tpu-monitoring-library"
AFTER = ["jax.devices_visible"]

UPGRADE = Hint.see('pip install -U "jax[tpu]"', "installs a libtpu that has metrics")


def ring(count):
    """Return the function that sends blocks round a ring of so many devices."""
    neighbours = [(index, (index + 1) % count) for index in range(count)]

    def go_round(block):
        """Return a device's `block: int32[1, w]` after it has visited every device."""
        return jax.lax.fori_loop(0, count, lambda _, x: jax.lax.ppermute(x, "d", neighbours), block)

    return go_round


def programs(devices):
    """Yield the program that makes every chip compute and communicate before libtpu is queried."""
    mapped, blocks = _collectives.spread(ring(len(devices)), devices)
    yield "go_round", mapped, (blocks,)


def library():
    """Return libtpu's module of metrics, or None, and a description."""
    if jax.default_backend() != "tpu":  # off a TPU libtpu would look for one, for minutes
        return None, "not applicable: no TPU here"
    return _metrics.library()


@with_defaults
def run():
    """Let every chip compute and send, then read links, throttling and memory from libtpu."""
    devices, sent = jax.local_devices(), _collectives.blocks(len(jax.local_devices()))
    rows = _collectives.shard_rows(_collectives.execute(programs(devices), sent), devices)
    lost = {label(device): "" if np.array_equal(got, own) else "other numbers"
            for device, got, own in zip(devices, rows, sent, strict=True)}  # fmt: skip
    yield from tally("JAX-METRICS-RING", "blocks that return around the ring", lost)

    source, text = library()
    hint = None if source or text.startswith("not applicable") else UPGRADE
    yield Finding("JAX-METRICS-LIBRARY", "libtpu's metrics", "info", text, hint=hint)
    if source:
        names = "ici_link_health", "tpu_throttle_score", "hbm_capacity_total", "hbm_capacity_usage"
        links, throttling, *memory = (_metrics.texts(source, name) for name in names)
        yield from _metrics.scored(_metrics.LINKS, links)
        yield from _metrics.scored(_metrics.THROTTLING, throttling)
        yield from _metrics.memory(*memory)
