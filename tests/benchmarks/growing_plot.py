"""The cost of a plot that is drawn while its block runs: the same loop with and without.

    python tests/benchmarks/growing_plot.py [--repeat N]

It is looked at forty times as often as in the app. Prints the ratio of the processor's time.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tpustarter.probe.lesson import growing_plots

LOOPS = 2_000_000


def seconds(*, is_drawn: bool) -> float:
    """Return the seconds of a block that fills a list."""
    names: dict[str, Any] = {}
    command = {"id": "a", "plot": ["loss"], "growing": is_drawn}
    with growing_plots.LivePlotWatcher(command, names, lambda _: None):
        loss = names["loss"] = []
        add, began = loss.append, time.process_time()
        for number in range(LOOPS):
            add(float(number))
        return time.process_time() - began


def main() -> None:
    """Measure both in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    growing_plots.TICK_S = 0.01
    pairs = [(seconds(is_drawn=True), seconds(is_drawn=False)) for _ in range(repeat)]
    drawn, bare = (min(column) for column in zip(*pairs, strict=True))
    print(f"a block whose plot grows: {drawn / bare:.2f} x the same block ({bare:.3f} s)")


if __name__ == "__main__":
    main()
