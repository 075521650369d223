"""Each check of JAX on one device, and beside the settings of a user."""

from __future__ import annotations

import jax
import pytest

from tests.checks.test_jax import MINUTES, NAMES
from tests.support.jax_checks import failures
from tpustarter.probe.target import Target, set_target

OTHER = {
    "jax_debug_nans": True,
    "jax_disable_jit": True,
    "jax_debug_key_reuse": True,
    "jax_threefry_partitionable": False,
    "jax_numpy_dtype_promotion": "strict",
    "jax_numpy_rank_promotion": "raise",
    "jax_transfer_guard": "disallow",
    "jax_default_prng_impl": "rbg",
    "jax_enable_x64": True,
    "jax_enable_compilation_cache": False,
    "jax_raise_persistent_cache_errors": True,
    "jax_compilation_cache_max_size": 0,
    "jax_explain_cache_misses": True,
}
"""Settings that change what JAX does, each set to what is not its default."""

ABOUT_JAX = (
    "array_layouts",
    "callbacks",
    "compilation_cache",
    "control_flow",
    "dlpack",
    "donation",
    "host_transfers",
    "indexing",
    "out_of_bounds",
    "profiler_trace",
    "pytrees_and_keys",
    "random_keys",
    "recompilation",
    "round_trips",
    "sharded_to_numpy",
    "tpu_metrics",
    "weak_types",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_check_has_a_form_for_one_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A v5e-1 and a laptop are healthy machines too."""
    devices = jax.local_devices()[:1]
    monkeypatch.setattr(jax, "local_devices", lambda **_: devices)
    set_target(Target("cpu", 1, virtual=True, minutes=MINUTES))

    assert failures(name) == []


@pytest.mark.parametrize("name", ABOUT_JAX)
def test_user_settings_make_no_claim_false(name: str) -> None:
    """A claim about JAX as documented holds whatever this user's programs are run with."""
    before = {setting: jax.config.values[setting] for setting in OTHER}
    try:
        for setting, value in OTHER.items():
            jax.config.update(setting, value)
        failed = failures(name)
    finally:
        for setting, value in before.items():
            jax.config.update(setting, value)

    assert [] == failed
