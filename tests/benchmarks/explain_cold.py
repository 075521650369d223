"""Seconds of `explain` on a log of 200 lines, as a person waits for it: from a cold start.

    python tests/benchmarks/explain_cold.py [RUNS]

It prints the shortest time of the clock and of the processor, for a log that ends with a known
failure and for one that ends with the error of a library, whose source is read. Python may write
its bytecode, as it does for a person, so the first run is slower.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import usage

LINES = 200
STEP = "I1122 10:00:00.000000 41 train.py:8] TPU step {} loss=2.31 tokens/s=81234\n"
HELD = "RuntimeError: The TPU is already in use by process with pid 4242\n"
LIBRARY = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    one.substitute()
  File "{file}", line 9, in write_yaml
    raise ValueError(f"no such thing {{name}}")
ValueError: no such thing as this
"""
SOURCE = "x = 1\n" * 5_000 + 'def write_yaml(name):\n    if not name:\n        raise ValueError(f"no such thing {name}")\n'  # fmt: skip  # noqa: E501


def main() -> None:
    """Print the shortest of several runs."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "lib/python3.12/site-packages/glue/core.py"
        source.parent.mkdir(parents=True)
        source.write_text(SOURCE)
        for name, end in (("known failure", HELD), ("library", LIBRARY.format(file=source))):
            log = Path(folder) / "train.log"
            steps = LINES - end.count("\n")
            log.write_text("".join(map(STEP.format, range(steps))) + end)
            command = [sys.executable, "-m", "tpustarter", "explain", "--no-look", str(log)]
            used = [usage.run(command, os.environ, check=False) for _ in range(runs)]
            clock, processor = (
                min(one.clock_s for one in used),
                min(one.processor_s for one in used),
            )
            print(f"{name}: {clock:.2f} s of the clock, {processor:.2f} s of the processor")


if __name__ == "__main__":
    main()
