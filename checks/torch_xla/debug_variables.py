"""Ten debug variables behave as measured on 2.9.0."""

import inspect
import tempfile
from pathlib import Path

import torch_xla

from tpustarter.checks.torch_xla import _debug_program, _debug_runs
from tpustarter.probe.finding import Finding

FRAMEWORK = "torch_xla"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 400
ESTIMATE_S = 34
LESSON = "pytorch/debug-and-profile"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/troubleshoot.html"
AFTER = ["torch_xla.devices_visible"]
OWN_PROCESS = True  # the processes that it starts need the device
OTHER = "see `python -m pip show torch_xla`; the lessons describe 2.9.0, which behaves differently"
ADVICE = {
    "bfloat16": "convert the model with `.to(torch.bfloat16)`, or use `torch.autocast('xla')`",
    "int32": "use `dtype=torch.int32` where 32 bits are enough",
    "eager": "`torch_xla.experimental.eager_mode(True)` runs each operation immediately",
}
"""The replacement of each variable."""
WAIT = "`xm.wait_device_ops()` waits until the device has finished"


def variables():
    """Return the variables of each of three processes; those of one process don't interact.

    `{folder}` is a folder of the process's own.
    """
    return {
        "plain": {"XLA_SAVE_TENSORS_FILE": "{folder}/graphs", "XLA_SAVE_TENSORS_FMT": "dot"},
        "graph": {
            "XLA_IR_DEBUG": "1", "GET_TENSORS_OPBYOP": "1", "SYNC_TENSORS_OPBYOP": "1",
            "XLA_SAVE_TENSORS_FILE": "{folder}/graphs", "XLA_METRICS_FILE": "{folder}/metrics",
        },
        "types": {
            "XLA_USE_BF16": "1", "XLA_USE_32BIT_LONG": "1", "XLA_HLO_DEBUG": "1",
            "XLA_SYNC_WAIT": "1", "XLA_SAVE_TENSORS_FILE": "{folder}/graphs",
            "XLA_SAVE_TENSORS_FMT": "hlo",
        },
    }  # fmt: skip


def run():
    """Run a small program under each set of variables, and compare its output and files."""
    source, facts = inspect.getsource(_debug_program), {}
    for name, values in variables().items():
        with tempfile.TemporaryDirectory(prefix="tpustarter-debug-") as folder:
            facts[name] = _debug_runs.facts_of(source, values, Path(folder))
    for variable, found, expected, advice in _debug_runs.table(facts):
        code = "XLA-DEBUG-" + variable.removeprefix("XLA_").replace("_", "-")
        verdict = "ok" if found == expected else "fail"
        if verdict == "fail" and not torch_xla.__version__.startswith("2.9."):
            verdict = "info"
        hint = OTHER if verdict != "ok" else ADVICE.get(advice)
        yield Finding(code, variable, verdict, found, expected, hint=hint)
    waits = "waits" if facts["types"]["the sync waits"] else "does not wait"
    text = f"torch_xla.sync() {waits} for the device"
    yield Finding("XLA-DEBUG-SYNC-WAIT", "XLA_SYNC_WAIT", "info", text, hint=WAIT)
