"""A plan beside a rehearsal of the model's own training step, with the real TPU compiler.

It is compiled with full effort: with less, it needs 12 % more beside its arguments.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.benchmarks import planned_models
from tests.support.real_compiler import python_with_libtpu
from tpustarter.cli import cli

SAID = 0.2
"""Largest error of an estimate, as the plan states it."""
TOKENS = 2 * 1025 * 4
"""Bytes of what a device is given to read, which a plan leaves out."""


def run(*words: str) -> dict[str, Any]:
    """Return the document that a command prints."""
    done = CliRunner().invoke(cli, [*words, "--json"])
    return json.loads(done.stdout)


def test_plan_of_training_agrees_with_rehearsal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan's weights and Adam are exact, and the rest of an FSDP step is within its bounds."""
    libtpu = python_with_libtpu()
    row = planned_models.MODELS[planned_models.SMALL]
    monkeypatch.setenv("PLANNED_MODEL", planned_models.SMALL)
    (tmp_path / "config.json").write_text(json.dumps(row["config"]))
    options = ["--python", libtpu, "--compiler", libtpu, "--tpu", row["tpu"]]
    rehearsed = run("rehearse", planned_models.__file__, *options)
    (tmp_path / "step.json").write_text(json.dumps(rehearsed))
    plan = run("plan", str(tmp_path), *row["options"], "--rehearsal", str(tmp_path / "step.json"))
    (both,), (tpu,) = plan["rehearsals"], plan["tpus"]

    assert (planned_models.SMALL, row["tpu"]) == (both["program"], tpu["name"])
    assert 0 <= both["arguments"] - both["state"] - TOKENS < 2048
    rest = both["rehearsed"] - both["arguments"]
    assert pytest.approx(rest, rel=SAID) == both["planned"] - both["state"]
