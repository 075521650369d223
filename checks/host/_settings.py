"""Settings that JAX reads from the environment at its import, and refuses if they are misspelt.

Taken from jax 0.6.2 and 0.12.0.1: a word that either of them accepts is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from tpustarter.machine import host

SWITCH = ("0", "1", "true", "false", "yes", "no", "on", "off", "t", "f", "y", "n")
"""Words that JAX accepts as yes or no, in upper and lower case."""

SWITCHES = (
    "JAX_CHECK_TRACER_LEAKS", "JAX_DEBUG_INFS", "JAX_DEBUG_KEY_REUSE", "JAX_DEBUG_NANS",
    "JAX_DISABLE_JIT", "JAX_ENABLE_CHECKS", "JAX_ENABLE_COMPILATION_CACHE", "JAX_ENABLE_PGLE",
    "JAX_ENABLE_X64", "JAX_EXPLAIN_CACHE_MISSES", "JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS",
    "JAX_LOG_CHECKPOINT_RESIDUALS", "JAX_LOG_COMPILES", "JAX_PPRINT_USE_COLOR",
    "JAX_RAISE_PERSISTENT_CACHE_ERRORS", "JAX_THREEFRY_PARTITIONABLE",
    "JAX_USE_SHARDY_PARTITIONER",
)  # fmt: skip

NUMBERS = {
    "JAX_COMPILATION_CACHE_MAX_SIZE": int,
    "JAX_NUM_CPU_DEVICES": int,
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": float,
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": int,
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": int,
    "JAX_TRACER_ERROR_NUM_TRACEBACK_FRAMES": int,
}

_GUARD = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
WORDS = {
    "JAX_CPU_COLLECTIVES_IMPLEMENTATION": ("gloo", "mpi", "megascale"),
    "JAX_DEFAULT_MATMUL_PRECISION": (
        "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
        "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
        "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
        "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
        "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
    ),
    "JAX_DEFAULT_PRNG_IMPL": (
        "threefry2x32", "rbg", "unsafe_rbg", "threefry4x32", "philox2x32", "philox4x32",
    ),
    "JAX_LEGACY_PRNG_KEY": ("allow", "warn", "error"),
    "JAX_LOGGING_LEVEL": ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET"),
    "JAX_NUMPY_DTYPE_PROMOTION": ("standard", "strict"),
    "JAX_NUMPY_RANK_PROMOTION": ("allow", "warn", "raise"),
    "JAX_TRACEBACK_FILTERING": (
        "off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto",
    ),
    "JAX_TRANSFER_GUARD": _GUARD,
    "JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE": _GUARD,
    "JAX_TRANSFER_GUARD_DEVICE_TO_HOST": _GUARD,
    "JAX_TRANSFER_GUARD_HOST_TO_DEVICE": _GUARD,
}  # fmt: skip
"""The case-sensitive words of each setting, with the six most common ones first."""


class Refused(NamedTuple):
    """A value with which no JAX program starts, an empty one included."""

    name: str
    actual: str
    expected: str


def refused(env: Mapping[str, str]) -> Iterator[Refused]:
    """Yield every setting whose value JAX refuses."""
    for name in sorted({*SWITCHES, *NUMBERS, *WORDS} & set(env)):
        expected = _expected(name, env[name])
        if expected:
            yield Refused(
                name, f"`{host.clean_text(env[name], 40)}`" if env[name] else "", expected
            )


def _expected(name: str, value: str) -> str | None:
    """Return the values that JAX expects instead, or None if it accepts this one."""
    if name in SWITCHES:
        return None if value.lower() in SWITCH else "0 or 1"
    if name in NUMBERS:
        try:
            NUMBERS[name](value)
        except ValueError:
            return "a whole number" if NUMBERS[name] is int else "a number"
        return None
    words = {word.lower(): word for word in WORDS[name]}
    if value in words.values():
        return None
    near = get_close_matches(value.strip().lower(), words, n=1)
    usual = WORDS[name][:6]
    return words[near[0]] if near else f"{', '.join(usual[:-1])} or {usual[-1]}"
