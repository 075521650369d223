"""Callbacks work from every device."""

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _calls, _collectives, _handover
from tpustarter.checks.jax._collectives import execute
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._refusals import reason
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/is-it-really-the-tpu"
SOURCE = "https://docs.jax.dev/en/latest/external-callbacks.html"
AFTER = ["jax.devices_visible"]

CPU = Hint.run("export JAX_PLATFORMS=tpu,cpu", ", or `cuda,cpu`, because callbacks need a CPU")
BARRIER = "`jax.effects_barrier()` waits until all callbacks have run"


def programs(devices):
    """Yield each way to call the host: from the first device, and from each for itself."""
    x = jax.ShapeDtypeStruct((8, 128), np.int32, sharding=SingleDeviceSharding(devices[0]))
    on_each, rows = _collectives.spread(_calls.ask_on_each, devices)
    yield "ask_by_rows", _calls.ask_by_rows, (x,)
    yield "tell_in_order", _calls.tell_in_order, (x,)
    yield "ask_on_each", on_each, (rows,)
    yield "ask_in_vain", _calls.ask_in_vain, (x,)


@with_defaults
def run():
    """Compare results with NumPy's, and reports with the numbers sent; then raise an error."""
    if _handover.cpu() is None:
        yield compare("JAX-CALLBACK-CPU", "CPU devices for callbacks", 0, 1, hint=CPU)
        return
    devices = jax.local_devices()
    by_rows, in_order, on_each, in_vain = programs(devices)
    sent, own = _collectives.blocks(8), _collectives.blocks(len(devices))
    sent[:, 0] = range(8)
    actual = execute([by_rows], sent)
    lost = {f"way:{way}": difference(actual[way], 3 * sent + 1) for way in actual}
    yield from tally("JAX-CALLBACK-VALUES", "kinds of callback with correct results", lost)

    execute([in_order], sent)
    actual, name = " ".join(map(str, _calls.heard())), "order of an ordered io_callback"
    yield compare("JAX-CALLBACK-ORDER", name, actual, "0 1 2 3 4 5 6 7", hint=AGAIN)

    actual = _collectives.shard_rows(execute([on_each], own), devices)
    lost = {label(device): difference(actual[place], 3 * own[place] + 1)
            for place, device in enumerate(devices)}  # fmt: skip
    yield from tally("JAX-CALLBACK-DEVICES", "devices with correct callback results", lost)
    yield debug_callback(sorted(_calls.heard()), sorted(own[:, 0].tolist()))

    raised = reason(lambda: (jax.block_until_ready(execute([in_vain], sent)), _calls.heard()))
    actual, name = "raised" if raised else "not raised", "exception in a callback, for its caller"
    yield compare("JAX-CALLBACK-ERROR", name, actual, "raised", hint=AGAIN)


def difference(actual, expected):
    """Describe how an array differs from the expected answer, or return an empty string."""
    count = np.count_nonzero(np.asarray(actual) != expected)
    return f"{count} of {expected.size} numbers wrong" if count else ""


def debug_callback(received, sent):
    """Return the finding on the calls of `jax.debug.callback`, which JAX may drop or repeat."""
    code, name = "JAX-CALLBACK-DEBUG", "devices that debug.callback reported"
    if received == sent or set(received) - set(sent):
        actual = len(sent) if received == sent else "a number that no device sent"
        return compare(code, name, actual, len(sent), hint=AGAIN)
    actual = f"{len(set(received))}, in {len(received)} calls"
    return Finding(code, name, "info", actual, len(sent), hint=BARRIER)
