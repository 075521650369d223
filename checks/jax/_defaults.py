"""JAX's own settings, for claims about JAX as it is documented.

The rule to know: JAX_DISABLE_JIT and JAX_DEBUG_NANS change JAX's behaviour on purpose, which
`host.environment` reports. These claims are about JAX without them.
"""

import contextlib
import functools

import jax


def with_defaults(run):
    """Return a check's `run` under JAX's default settings, which restores the user's afterwards."""

    @functools.wraps(run)
    def run_with_defaults():
        with contextlib.ExitStack() as stack:
            for setting in (jax.debug_nans, jax.debug_infs, jax.disable_jit, jax.debug_key_reuse):
                stack.enter_context(setting(False))  # noqa: FBT003  each names it differently
            stack.enter_context(jax.threefry_partitionable(new_val=True))
            stack.enter_context(jax.numpy_dtype_promotion("standard"))
            stack.enter_context(jax.numpy_rank_promotion("allow"))
            stack.enter_context(jax.transfer_guard("allow"))
            yield from run()

    return run_with_defaults
