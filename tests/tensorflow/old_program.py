"""Runs the program of 2019 from the lesson on a whole program, in a Python that has Estimators.

    python -m tests.tensorflow.old_program PYTHON [--write]

PYTHON has TensorFlow 2.15. The losses must be those of `losses_2019.txt`, which `--write` writes
anew, and its evaluations those that the lesson shows; ends with 1 where they aren't.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tpustarter.core import content
from tpustarter.learning.content import code_files

LESSON = "tensorflow/a-whole-program"
LOSSES = "losses_2019.txt"
HEADER = "# The loss of each step of estimator_2019.py, under TensorFlow {} on one CPU device.\n"
READ = """import glob, sys, tensorflow as tf
print(tf.__version__)
for file in glob.glob("run/events*.v2"):
    for event in tf.compat.v1.train.summary_iterator(file):
        for value in event.summary.value:
            if value.tag == "step_loss":
                print(event.step, float(tf.make_ndarray(value.tensor)))
"""
EVALUATED = re.compile(r"global step (\d+): accuracy = ([\d.]+),.* loss = ([\d.]+)")
"""As the program logs it, and as the lesson repeats it."""
OFF = 1e-3
"""What another processor may round differently."""


def ran(python: str, folder: Path, *words: str) -> str:
    """Return the output and log of a program; raise RuntimeError if it fails."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [python, *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout + done.stderr


def evaluated(text: str) -> dict[int, tuple[float, float]]:
    """Return accuracy and loss of each evaluation, by its step."""
    found = EVALUATED.findall(text)
    return {int(step): (float(accuracy), float(loss)) for step, accuracy, loss in found}


def main(python: str, *options: str) -> int:
    """Run it from the weights of step 0, and compare."""
    [lesson] = [one for one in content.read_lessons() if one.id == LESSON]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code_files.write_code_files(lesson, folder)
        ran(python, folder, "make_images.py", "data")
        shutil.copytree(folder / "data/start", folder / "run")
        log = ran(python, folder, "estimator_2019.py")
        version, *lines = ran(python, folder, "-c", READ).splitlines()
        known = code_files.read_code_file(lesson, LOSSES)
    steps = dict(line.split() for line in lines if len(line.split()) == 2)
    losses = [float(steps[str(step)]) for step in range(len(steps))]
    if "--write" in options:
        text = HEADER.format(version) + "".join(f"{loss:.5f}\n" for loss in losses)
        (lesson.path.parent / "code" / LOSSES).write_text(text, encoding="utf-8")
        return 0
    expected = [float(line) for line in known.splitlines()[1:]]
    off = max(abs(one - other) for one, other in zip(losses, expected, strict=True))
    shown, logged = evaluated(lesson.path.read_text(encoding="utf-8")), evaluated(log)
    print(
        f"TensorFlow {version}: {len(losses)} losses, the last {losses[-1]:.4f}, off by {off:.0e}"
    )
    print(f"it evaluated {logged}, and the lesson shows {shown}")
    same = shown.keys() == logged.keys() and all(
        abs(one - other) < OFF
        for step in shown
        for one, other in zip(shown[step], logged[step], strict=True)
    )
    return 0 if off < OFF and same else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
