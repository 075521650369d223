"""A function and its arguments, lowered for a TPU in the process that has them."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp

from tpustarter.probe.rehearse import exports
from tpustarter.probe.rehearse.exports import LoweringJob


def test_argument_may_have_any_name(tmp_path: Path) -> None:
    """The names of the exporting function's own parameters are free for those of the user's."""

    def step(path: jax.Array, answers: jax.Array, warn: jax.Array) -> jax.Array:
        return path + answers + warn

    x = jax.ShapeDtypeStruct((2,), "float32")
    job = LoweringJob(step, (), dict.fromkeys(("path", "answers", "warn"), x))
    fields = exports.export_to_file(tmp_path / "artifact", job)

    assert ["f32[2]"] * 3 == fields["arguments"]


def test_program_records_lines_of_user_alone(tmp_path: Path) -> None:
    """The folder of a run is no part of it, so that it is the same program in each run."""
    job = LoweringJob(jnp.sin, [jax.ShapeDtypeStruct((2,), "float32")])
    exports.export_to_file(tmp_path / "artifact", job)
    artifact = (tmp_path / "artifact").read_bytes()

    assert __file__.encode() in artifact
    assert b"exports.py" not in artifact.replace(__file__.encode(), b"")
