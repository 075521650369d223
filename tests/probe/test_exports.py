"""A function and its arguments, lowered for a TPU in the process that has them."""

from __future__ import annotations

from pathlib import Path

import jax

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
