"""Settings of JAX and XLA, each with a value other than the default, and runs under them.

    python -m tests.support.settings [-j JOBS] [--check CHECK] [SETTING ...]

runs all quick checks of JAX under every setting, and prints which claims change and how this is
reported. It takes an hour on two cores; the hostile lane runs the checks of `SENSITIVE`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

OPTIONS = {
    "JAX2TF_ASSOCIATIVE_SCAN_REDUCTIONS": "1",
    "JAX_ACCURATE_ERF_INV": "1",
    "JAX_ALLOW_F16_REDUCTIONS": "0",
    "JAX_ARRAY_GARBAGE_COLLECTION_GUARD": "log",
    "JAX_AUTO_PCAST": "0",
    "JAX_BCOO_CUSPARSE_LOWERING": "1",
    "JAX_CHECK_STATIC_INDICES": "1",
    "JAX_CHECK_TRACER_LEAKS": "1",
    "JAX_DEBUG_INFS": "1",
    "JAX_DEBUG_KEY_REUSE": "1",
    "JAX_DEBUG_NANS": "1",
    "JAX_DEFAULT_DEVICE": "cpu",
    "JAX_DEFAULT_DTYPE_BITS": "32",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_DISABLE_BWD_CHECKS": "1",
    "JAX_DISABLE_JIT": "1",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_DISABLE_VMAP_SHMAP_ERROR": "1",
    "JAX_DISALLOW_MESH_CONTEXT_MANAGER": "1",
    "JAX_DYNAMIC_SHAPES": "1",
    "JAX_ENABLE_CHECKS": "1",
    "JAX_ENABLE_CUSTOM_PRNG": "1",
    "JAX_ENABLE_X64": "1",
    "JAX_ERROR_CHECKING_BEHAVIOR_DIVIDE": "raise",
    "JAX_ERROR_CHECKING_BEHAVIOR_NAN": "raise",
    "JAX_ERROR_CHECKING_BEHAVIOR_OOB": "raise",
    "JAX_EXEC_TIME_OPTIMIZATION_EFFORT": "-1.0",
    "JAX_EXPERIMENTAL_UNSAFE_XLA_RUNTIME_ERRORS": "1",
    "JAX_EXPLICIT_X64_DTYPES": "error",
    "JAX_HIGH_DYNAMIC_RANGE_GUMBEL": "1",
    "JAX_LEGACY_PRNG_KEY": "error",
    "JAX_MUTABLE_ARRAY_CHECKS": "0",
    "JAX_NO_EXECUTION": "1",
    "JAX_NO_TRACING": "1",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_OPTIMIZATION_LEVEL": "O0",
    "JAX_PALLAS_ENABLE_DEBUG_CHECKS": "1",
    "JAX_PALLAS_POISON_BUFFERS": "1",
    "JAX_RAISE_ON_PPERMUTE_SORT_DIFF": "0",
    "JAX_RAISE_PERSISTENT_CACHE_ERRORS": "1",
    "JAX_RANDOM_SEED_OFFSET": "7",
    "JAX_REMOVE_SIZE_ONE_MESH_AXIS_FROM_TYPE": "1",
    "JAX_SOFTMAX_CUSTOM_JVP": "1",
    "JAX_SORT_DEVICES_BY_PROCESS_INDEX": "0",
    "JAX_THREAD_GUARD": "1",
    "JAX_THREEFRY_GPU_KERNEL_LOWERING": "1",
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_TRANSFER_GUARD": "disallow",
    "JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE": "disallow",
    "JAX_TRANSFER_GUARD_DEVICE_TO_HOST": "disallow",
    "JAX_TRANSFER_GUARD_HOST_TO_DEVICE": "disallow",
    "JAX_USE_HLO_LOGISTIC_LOWERING": "1",
    "JAX_USE_MAGMA": "off",
    "JAX_USE_SHARDY_PARTITIONER": "0",
    "JAX_XLA_PROFILE_VERSION": "1",
}
"""Options that change results, or which programs are refused."""

FLAGS = {
    "xla_allow_excess_precision": "false",
    "xla_backend_optimization_level": "0",
    "xla_cpu_enable_fast_math": "true",
    "xla_cpu_enable_fast_min_max": "false",
    "xla_cpu_enable_platform_dependent_math": "false",
    "xla_cpu_ftz": "false",
    "xla_cpu_strict_dot_conv_math": "true",
    "xla_detect_unstable_reductions": "fail",
    "xla_disable_all_hlo_passes": "true",
    "xla_disable_hlo_passes": "algsimp",
    "xla_enable_fast_math": "true",
    "xla_enable_hlo_passes_only": "algsimp",
    "xla_gpu_autotune_level": "0",
    "xla_gpu_deterministic_ops": "true",
    "xla_gpu_enable_fast_min_max": "true",
    "xla_gpu_exclude_nondeterministic_ops": "true",
    "xla_gpu_ftz": "true",
    "xla_reduce_window_rewrite_base_length": "0",
    "xla_tpu_detect_nan": "true",
    "xla_tpu_detect_inf": "true",
}
"""Flags for XLA_FLAGS. A flag that jaxlib does not have ends its processes."""

FAST_MATH = "--xla_cpu_enable_fast_math=true " + " ".join(
    f"--xla_cpu_fast_math_honor_{name}=false" for name in ("nans", "infs", "division", "functions")
)
LIBTPU = {
    "xla_jf_conv_full_precision": "true",
    "xla_tpu_bf16_emission_mode": "NATIVE_EMISSION",
    "xla_tpu_spmd_rng_bit_generator_unsafe": "true",
}
"""Flags for LIBTPU_INIT_ARGS, which nothing reads on a machine without a TPU."""

QUIET = {
    "JAX_CAPTURED_CONSTANTS_WARN_BYTES": "1",
    "JAX_COMPILER_ENABLE_REMAT_PASS": "0",
    "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0",
    "JAX_EMBEDDED_CONSTANTS_MAX_BYTES": "1000000",
    "JAX_ENABLE_COMPILATION_CACHE": "0",
    "JAX_ENABLE_PGLE": "1",
    "JAX_EXPLAIN_CACHE_MISSES": "1",
    "JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS": "0",
    "JAX_LOGGING_LEVEL": "DEBUG",
    "JAX_LOG_CHECKPOINT_RESIDUALS": "1",
    "JAX_LOG_COMPILES": "1",
    "JAX_MEMORY_FITTING_LEVEL": "O0",
    "JAX_PMAP_NO_RANK_REDUCTION": "0",
    "JAX_PMAP_SHMAP_MERGE": "1",
    "JAX_TRACEBACK_FILTERING": "off",
    "JAX_USE_DIRECT_LINEARIZE": "0",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1",
}
"""Some of the options that change no documented result."""

SENSITIVE = (
    "jax.special_values",
    "jax.narrowing",
    "jax.sorting",
    "jax.every_device",
    "jax.same_everywhere",
    "jax.out_of_bounds",
    "jax.pytrees_and_keys",
    "jax.all_reduce",
)
"""The quick checks that the most settings change, each alone or with few others."""


class Setting(NamedTuple):
    """One setting or several at once: a name and the environment variables."""

    name: str
    env: dict[str, str]


def _flags(names: Sequence[str], variable: str = "XLA_FLAGS") -> dict[str, str]:
    values = FLAGS | LIBTPU
    return {variable: " ".join(f"--{name}={values[name]}" for name in names)}


DEVICE_FLAGS = [name for name in FLAGS if "_gpu_" in name or "_tpu_" in name]
"""Flags that nothing reads on a CPU."""

READ = (
    *(Setting(name, {name: value}) for name, value in OPTIONS.items()),
    *(Setting(name, _flags([name])) for name in FLAGS if name not in DEVICE_FLAGS),
    Setting("all of fast math", {"XLA_FLAGS": FAST_MATH}),
)
UNREAD = (
    *(Setting(name, {name: value}) for name, value in QUIET.items()),
    *(Setting(name, _flags([name])) for name in DEVICE_FLAGS),
    *(Setting(name, _flags([name], "LIBTPU_INIT_ARGS")) for name in LIBTPU),
)
TOGETHER = Setting(
    "all others at once",
    QUIET | _flags(DEVICE_FLAGS) | _flags(list(LIBTPU), "LIBTPU_INIT_ARGS"),
)

CHANGING = (
    "JAX_AUTO_PCAST",
    "JAX_CHECK_STATIC_INDICES",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_CUSTOM_PRNG",
    "JAX_ERROR_CHECKING_BEHAVIOR_DIVIDE",
    "JAX_ERROR_CHECKING_BEHAVIOR_NAN",
    "JAX_ERROR_CHECKING_BEHAVIOR_OOB",
    "JAX_EXPLICIT_X64_DTYPES",
    "JAX_NO_EXECUTION",
    "JAX_NO_TRACING",
    "JAX_TRANSFER_GUARD",
    "xla_cpu_enable_fast_math",
    "all of fast math",
    "xla_disable_all_hlo_passes",
    "xla_disable_hlo_passes",
    "xla_enable_hlo_passes_only",
)
"""The settings that change a claim on a CPU, as `main` shows (jax 0.10.2)."""


def in_groups(settings: Sequence[Setting], size: int) -> list[Setting]:
    """Return each setting that changes claims by itself, and the others in groups."""
    alone = [setting for setting in settings if setting.name in CHANGING]
    options = [setting for setting in settings if setting.name in OPTIONS.keys() - {*CHANGING}]
    flags = [setting.name for setting in settings if setting.name in FLAGS.keys() - {*CHANGING}]
    groups = [options[start : start + size] for start in range(0, len(options), size)]
    together = [
        Setting(
            " ".join(setting.name for setting in group),
            {name: value for setting in group for name, value in setting.env.items()},
        )
        for group in groups
    ]
    return [*alone, *together, Setting(" ".join(flags), _flags(flags))]


def run(setting: Setting, checks: Sequence[str], *, devices: int | None = None) -> dict[str, Any]:
    """Run checks with the installed command under one setting; returns its JSON document."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **setting.env}
    command = [sys.executable, "-m", "tpustarter", "check", "--json", "--python", sys.executable]
    command += ["--devices", str(devices)] if devices else []
    done = subprocess.run([*command, *checks], env=env, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def told(result: dict[str, Any]) -> str:
    """Return a result's finding on settings: changed, same, left-out, or empty for none."""
    codes = [str(finding["code"]) for finding in result["findings"]]
    codes = [code for code in codes if code.startswith("SETTINGS-")]
    return codes[0].removeprefix("SETTINGS-").lower() if codes else ""


def is_blamed(result: dict[str, Any]) -> bool:
    """Return whether a result blames the machine, or gives up, without naming the setting."""
    judged = result["status"] in ("pass", "warn") or result["reason"] == "not-applicable"
    return not judged and told(result) not in ("changed", "same")


def main(arguments: list[str]) -> int:
    """Print a line per setting and the totals; return 1 if a result blames the machine."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--check", action="append", help="a check; all quick ones of JAX if none")
    parser.add_argument("names", nargs="*", metavar="SETTING")
    options = parser.parse_args(arguments)
    settings = [*READ, *UNREAD, TOGETHER]
    settings = [one for one in settings if not options.names or one.name in options.names]
    checks = options.check or ["jax.*"]
    ways, changed, blamed = Counter[str](), Counter[str](), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(lambda setting: run(setting, checks), settings)
        for setting, report in zip(settings, reports, strict=True):
            others = [result for result in report["results"] if result["status"] != "pass"]
            others = [result for result in others if result["reason"] != "not-applicable"]
            lines = [f"{result['id']} {result['status']} {told(result)}" for result in others]
            ways.update(f"{result['status']} {told(result)}" for result in report["results"])
            changed.update(result["id"] for result in others)
            blamed += sum(map(is_blamed, others))
            print(
                f"{setting.name} {report['verdict']}: {'; '.join(lines) or 'nothing'}", flush=True
            )
    print(f"{len(settings)} settings, {sum(ways.values())} results: {dict(ways)}")
    print("changed most:", ", ".join(f"{name} {count}" for name, count in changed.most_common(20)))
    print(f"blamed on the machine, or without a word of the setting: {blamed}")
    return 1 if blamed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
