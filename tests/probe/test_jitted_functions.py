"""The text for types of arrays."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tpustarter.probe.rehearse import jitted_functions


@pytest.mark.parametrize(
    ("kind", "narrowed", "whole"),
    [
        (np.int64, "s32[64]", "s64[64]"),
        (np.uint64, "u32[64]", "u64[64]"),
        (np.float64, "f32[64]", "f64[64]"),
        (np.complex128, "c64[64]", "c128[64]"),
        (np.int8, "s8[64]", "s8[64]"),
    ],
)
def test_narrowed_type_is_reported_as_compiled(kind: type, narrowed: str, whole: str) -> None:
    """A NumPy array of 64 bits becomes one of 32, unless `jax_enable_x64` is on."""
    value = np.zeros(64, kind)

    assert (
        narrowed
        == jitted_functions.format_hlo_type(value)
        == jitted_functions.format_hlo_type(jax.numpy.asarray(value))
    )
    jax.config.update("jax_enable_x64", True)
    try:
        assert whole == jitted_functions.format_hlo_type(value)
    finally:
        jax.config.update("jax_enable_x64", False)
