"""Environment variables that break TPU programs, or surprise their authors.

Values may contain addresses, names and tokens, so only those of HARMLESS are shown, shortened.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tpustarter.machine import host
from tpustarter.probe.finding import Hint, Verdict

JAX = "https://github.com/jax-ml/jax/blob/main/jax/_src"
XLA = "https://github.com/pytorch/xla"

HARMLESS = (
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "PJRT_DEVICE",
    "TPU_LOAD_LIBRARY",
    "XLA_USE_*",
    "XLA_DOWNCAST_BF16",
    "ALLOW_MULTIPLE_LIBTPU_LOAD",
)
"""Variables whose values are words or switches."""


class Row(NamedTuple):
    """One mistake: a variable, its values that matter, and their effect."""

    variable: str
    """Name, or a pattern of names."""
    value: str
    """Pattern of the values that matter; `.` for any that is not empty."""
    verdict: Verdict
    says: str
    """The effect of the value."""
    expected: str
    source: str
    only_tpu: bool = True
    """True if it is a warning on a machine with a TPU, but `info` elsewhere."""


UNSET = "unset"
NO = r"(?i)(0|false|no)$"
YES = r"(?i)(1|true|yes)$"
NO_TPU_FLAG = r"(?:.*\s)?(--xla_(?:gpu|cpu|force_host|dump)_\w+)"
TPU_FLAG = r"(?:.*\s)?(--(?:xla_tpu|xla_jf|megascale|2a886c8)_\w+)"

ROWS = (
    Row("TPU_LOAD_LIBRARY", NO, "fail", "keeps libtpu from loading", UNSET,
        "https://github.com/jax-ml/jax"),
    Row("XRT_*", ".", "warn",
        "belongs to the removed XRT runtime, and PyTorch/XLA no longer reads it", UNSET,
        f"{XLA}/pull/4599"),
    Row("COLAB_TPU_ADDR", ".", "warn", "names a TPU Node, and TPU Nodes no longer exist", UNSET,
        "https://github.com/googlecolab/colabtools/issues/4481"),
    Row("TPU_NAME", r".*grpc://", "warn", "names a TPU Node, and TPU Nodes no longer exist", UNSET,
        "https://github.com/skypilot-org/skypilot/pull/5593"),
    Row("JAX_PLATFORMS", r"(cpu|gpu|cuda|rocm|METAL)\b", "warn",
        "makes JAX use a device other than the TPU", "tpu,cpu or unset", f"{JAX}/xla_bridge.py"),
    Row("JAX_PLATFORM_NAME", ".", "warn", "is deprecated and overrides JAX's choice of device",
        UNSET, f"{JAX}/xla_bridge.py"),
    Row("PJRT_DEVICE", r"(?!(TPU|CPU|CUDA|NEURON)$)(?i:tpu|gpu|cpu|cuda|neuron)$", "fail",
        "is not a device name of PyTorch/XLA; the names are case-sensitive", "TPU",
        f"{XLA}/blob/master/torch_xla/runtime.py", only_tpu=False),
    Row("PJRT_DEVICE", r"CPU$", "warn", "makes PyTorch/XLA use the CPU", "TPU",
        f"{XLA}/issues/8626"),
    Row("XLA_USE_BF16", YES, "warn", "silently turns float32 into bfloat16 in PyTorch/XLA", UNSET,
        f"{XLA}/blob/master/torch_xla/__init__.py", only_tpu=False),
    Row("XLA_DOWNCAST_BF16", YES, "warn", "silently turns float32 into bfloat16 in PyTorch/XLA",
        UNSET, f"{XLA}/blob/master/torch_xla/__init__.py", only_tpu=False),
    Row("XLA_USE_32BIT_LONG", YES, "warn", "silently turns int64 into int32 in PyTorch/XLA", UNSET,
        f"{XLA}/blob/master/torch_xla/__init__.py", only_tpu=False),
    Row("XLA_FLAGS", TPU_FLAG, "fail", "aborts the program: TPU flags belong in LIBTPU_INIT_ARGS",
        "no --xla_tpu_ flag", "https://github.com/openxla/xla", only_tpu=False),
    Row("LIBTPU_INIT_ARGS", NO_TPU_FLAG, "fail",
        "aborts the program: flags of XLA and other devices belong in XLA_FLAGS",
        "no --xla_gpu_ or --xla_dump_ flag",
        "https://github.com/apple/axlearn/pull/1305"),
    Row("ALLOW_MULTIPLE_LIBTPU_LOAD", YES, "info",
        "lets a second program start, which then finds the chips busy", UNSET,
        "https://github.com/jax-ml/jax/issues/10192"),
    Row("LD_PRELOAD", ".", "info", "loads a library into every program; tcmalloc breaks gsutil",
        UNSET, "https://github.com/ayaka14732/tpu-starter"),
)  # fmt: skip


class Mistake(NamedTuple):
    """A row that an environment matches."""

    row: Row
    name: str
    display: str
    """The value if it is harmless, the one flag that matters, or `set`."""


def mistakes(env: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield the rows that an environment matches."""
    for row in ROWS:
        for name in sorted(fnmatch.filter(env, row.variable)):
            match = re.match(row.value, env[name], re.DOTALL)
            if match and env[name]:
                flag = match[1] if match.re.groups and match[1] else ""
                yield Mistake(
                    row, name, flag if flag.startswith("--") else displayable(name, env[name])
                )


def fix(row: Row, name: str) -> str:
    """Return the fix for a mistake."""
    if UNSET in row.expected:
        return Hint.run(f"unset {name}")
    if row.expected.isalnum():
        return Hint.run(f"export {name}={row.expected}")
    return f"remove the flag from {name}"


def displayable(name: str, value: str) -> str:
    """Return a value that may be shown, or `set`."""
    harmless = any(fnmatch.fnmatch(name, pattern) for pattern in HARMLESS)
    return host.clean_text(value, 40) if harmless and value.isprintable() else "set"
