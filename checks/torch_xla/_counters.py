"""The counts that torch_xla keeps: compilations, executions, transfers and fallbacks.

The rule to know: an execution is counted when it ends, and `torch_xla.sync(wait=True)` of 2.9.0
returns before that. So this module waits with `xm.wait_device_ops()`.
"""

import collections

import torch_xla
import torch_xla.core.xla_model as xm
from torch_xla.debug import metrics

COMPILED = "UncachedCompile"
"""Graphs that were compiled, and not taken from the cache of this process."""
EXECUTED = "ExecuteTime"
"""Graphs that a device has executed."""
FETCHED = "TransferFromDeviceTime"
"""Transfers from a device to the host."""
FALLBACK = "aten::"
"""Prefix of the counters of operations that ran on the host instead of the device."""
READ = "aten::_local_scalar_dense"
"""Counter of `.item()`, which reads one number and computes nothing on the host."""


def all_counts():
    """Return every counter and the number of samples of every metric, by name."""
    counts = {name: metrics.metric_data(name)[0] for name in metrics.metric_names()}
    return counts | {name: metrics.counter_value(name) for name in metrics.counter_names()}


def finish():
    """Execute all pending operations, and wait until the devices have finished."""
    torch_xla.sync()
    xm.wait_device_ops()


def counted(action):
    """Return the result of `action()`, and a `Counter` of everything counted until its end."""
    xm.wait_device_ops()
    before = all_counts()
    result = action()
    xm.wait_device_ops()
    return result, collections.Counter(all_counts()) - collections.Counter(before)


def fallbacks(counts):
    """Return the counted operations that ran on the host, as one text."""
    names = (name for name in counts if name.startswith(FALLBACK) and name != READ)
    return ", ".join(sorted(names))
