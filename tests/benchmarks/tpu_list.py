"""The list of TPUs in the app with 20 and with 2,000 nodes: first paint, and key to paint.

    python tests/benchmarks/tpu_list.py [--nodes 20,2000] [--keys N] [--repeat N]

The app runs on a terminal and asks a fake Google Cloud on loopback. The clock of the first paint
starts when the last answer was made, so that the time of the fake does not count much; it stops
when the list is on the terminal. Prints medians, and their ratio to the first number of nodes;
asserts nothing, for machines are noisy. Wanted: a median key to paint of at most 50 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from google.cloud import tpu_v2

from tests.benchmarks.keys import program
from tests.support.fake_cloud import FakeCloud, serving

PLACE = "projects/my-project/locations/us-central1-b"
KEYS = {
    "arrow": (b"\x1b[B", b"\x1b[A"),
    "page": (b"\x1b[6~", b"\x1b[5~"),
    "end": (b"\x1b[F", b"\x1b[H"),
}
"""Keys by what they move over: there, and back."""


class Noting(FakeCloud):
    """A cloud that notes when it made its last answer."""

    answered = 0.0

    def _answer(self, *given: Any) -> Any:
        answer = super()._answer(*given)
        self.answered = time.perf_counter()
        return answer


def measure(number: int, keys: int, repeat: int) -> dict[str, float]:
    """Return the medians of one number of nodes, in milliseconds."""
    cloud = Noting()
    for index in range(number):
        name = f"{PLACE}/nodes/node-{index:04}"
        cloud.nodes[name] = tpu_v2.Node(
            name=name, accelerator_type="v6e-8", state=tpu_v2.Node.State.READY
        )
    first: list[float] = []
    seconds: dict[str, list[float]] = {name: [] for name in KEYS}
    with serving(cloud):
        endpoint = f"127.0.0.1:{cloud.port}"
        env = {"TPUSTARTER_TPU_ENDPOINT": endpoint, "CLOUDSDK_CORE_PROJECT": "my-project"}
        for _ in range(repeat):
            with program("-m", "tpustarter", **env) as tty:
                tty.until(b"Path: ")
                tty.write(b"u")
                tty.until(b"node-0000")
                first.append(time.perf_counter() - cloud.answered)
                for name, pair in KEYS.items():
                    seconds[name] += [tty.press(pair[n % 2], quiet_s=0.05) for n in range(keys)]
    medians = {"first paint": statistics.median(first)}
    for name, times in seconds.items():
        medians[f"{name}, median"] = statistics.median(times)
        medians[f"{name}, longest"] = max(times)
    return {name: 1000 * value for name, value in medians.items()}


def main() -> None:
    """Print a line for each figure, and a column for each number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="20,2000")
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    numbers = [int(one) for one in asked.nodes.split(",")]
    columns = [measure(number, asked.keys, asked.repeat) for number in numbers]
    print(f"{'':<18}" + "".join(f"{number:>8} nodes" for number in numbers) + "   ratio")
    for name, base in columns[0].items():
        values = "".join(f"{column[name]:>11.1f} ms" for column in columns)
        print(f"{name:<18}{values} {columns[-1][name] / base:>7.1f}")


if __name__ == "__main__":
    main()
