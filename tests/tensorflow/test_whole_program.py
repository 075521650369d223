"""The ported program of the lesson, as a reader starts it: killed, and started again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorflow", reason="This Python has no TensorFlow; the lane's has.")

from tpustarter.core import content
from tpustarter.learning.content import code_files

[LESSON] = [one for one in content.read_lessons() if one.id == "tensorflow/a-whole-program"]
ENV = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONUNBUFFERED": "1"}


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a program of the lesson in a folder that has its files."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def test_killed_run_continues_from_newest_checkpoint(tmp_path: Path) -> None:
    """A killed run continues at its newest checkpoint and repeats the same evaluation."""
    code_files.write_code_files(LESSON, tmp_path)
    subprocess.run([sys.executable, "make_images.py", "data"], cwd=tmp_path, env=ENV, check=True)
    with started(tmp_path, "train.py", "--device=cpu", "--train_steps=1000") as first:
        lines = iter(first.stdout or ())
        last = next(line for line in lines if line.startswith("step 50:"))
        first.kill()
    with started(tmp_path, "train.py", "--device=cpu", "--train_steps=100") as second:
        found = (second.stdout.read() if second.stdout else "").splitlines()

    assert second.returncode == 0
    assert "8 replicas" == found[0]
    assert last.strip() == found[1]
    assert found[2].startswith("step 100:")
    assert (tmp_path / "run" / "export" / "100" / "saved_model.pb").exists()
