"""Functions of `jax.pmap` as jitted programs: the shardings of their arguments, and an old JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tpustarter.probe.rehearse.pmapped import SINCE, PmappedFunction


def add(params: Any, scale: Any, x: Any, power: int, *, bias: Any) -> Any:
    """Use every kind of argument."""
    return params["w"] * scale + x**power + bias


OPTIONS = {"in_axes": ({"w": 1}, None, -1, None), "static_broadcasted_argnums": 3}
ARGUMENTS = ({"w": jnp.ones((4, 1))}, 2.0, np.ones((4, 1), np.int64), 3)
lowered = pytest.mark.skipif(
    jax.__version_info__ < SINCE,
    reason="The `pmap` of this JAX has a runtime of its own, and is refused.",
)


@lowered
def test_arguments_are_sharded_along_mapped_axes() -> None:
    """A prefix of a tree stands for its parts, names are mapped first, and static values stay."""
    pmapped = PmappedFunction(jax.jit, jax.pmap(add, **OPTIONS), OPTIONS)
    job = pmapped.make_job(ARGUMENTS, {"bias": jnp.ones((1, 4))})
    params, scale, x, power = job.arguments
    shapes = jax.eval_shape(job.function, *job.arguments, **job.named)

    assert [(None, "pmap"), (None, "pmap"), ("pmap",)] == [
        tuple(one.sharding.spec) for one in (params["w"], x, job.named["bias"])
    ]
    assert (2.0, 3, "int32") == (scale, power, x.dtype)
    assert (1, 4) == shapes.shape
    assert ("params", "scale", "x", "power", "bias") == job.pmapped


@lowered
def test_call_without_mapped_argument_fails_as_in_jax() -> None:
    """The reason is that of JAX, which refuses the call itself."""
    pmapped = PmappedFunction(jax.jit, jax.pmap(jnp.square, in_axes=None), {"in_axes": None})
    job = pmapped.make_job((jnp.ones(3),), {})

    with pytest.raises(ValueError, match="mapped axis"):
        jax.eval_shape(job.function, *job.arguments)


def test_old_jax_is_refused_with_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX before 0.8, whose `pmap` has its own runtime, is refused with the reason."""
    monkeypatch.setattr(jax, "__version_info__", (0, 7, 2))
    pmapped = PmappedFunction(jax.jit, jax.pmap(add, **OPTIONS), OPTIONS)

    with pytest.raises(NotImplementedError, match=r"0\.8"):
        pmapped.make_job(ARGUMENTS, {})
