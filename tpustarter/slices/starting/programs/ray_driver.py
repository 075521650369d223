"""The driver of a run started with Ray: one actor on each host of the cluster, and their output.

    python ray_driver.py SIZE PORT [--address A] [--count N] [--python P] < probe.pyz

It is run by the Python under test on this machine, which has Ray; tpustarter is not imported. Its
stdin carries the probe, SIZE bytes, and is then the lifeline. Each line of output begins with `host
N: `. An actor requests all TPU chips of its host, so it waits for any job that has them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from queue import Empty, SimpleQueue
from typing import IO, Any, TypedDict

RayObject = Any
"""The module `ray`, or an object of it; Ray is in no environment but the user's."""
ACTOR_WAIT_S = 1.0
FINISH_S = 8.0
"""Seconds that the probes have to exit by themselves after their lifeline has ended."""
ANSWER_S = 60.0
"""Seconds without a response after which an actor that has responded before counts as lost."""
CHIPS = "TPU"
"""Ray's name for a host's chips as a resource."""
NUMBER = "ray.io/tpu-worker-id"
"""Label that Ray gives the hosts of a slice."""
UV_HOOK = "RAY_ENABLE_UV_RUN_RUNTIME_ENV"
"""Ray's switch for its behaviour under `uv run`.

Its workers get a copy of the working directory and a `uv run` in it, so they use another Python
than the one under test. If that Python does not have Ray, no worker starts.
Source: ray/_private/ray_constants.py of Ray 2.60.0 (read 2026-11).
"""


Output = tuple[int, bytes] | int
"""A line of the probe's output, with 1 for stderr; or its exit code, after all lines."""


class RayHost:
    """A host of the run. Ray's worker watches the probe, which has a separate process."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[Output] = SimpleQueue()
        self._stdin: IO[bytes] | None = None
        self._folder = ""

    def start(self, probe: bytes, python: str, words: list[str]) -> None:
        """Write the probe into a folder and start it."""
        self._folder = tempfile.mkdtemp()
        path = os.path.join(self._folder, "probe.pyz")  # noqa: PTH118  it is pickled by value
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(probe)
        try:
            process = subprocess.Popen(
                [os.path.expanduser(python or sys.executable), path, *words],  # noqa: PTH111
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._stdin = process.stdin
        threads = [
            threading.Thread(target=self._read, args=(stream, is_error), daemon=True)
            for is_error, stream in enumerate((process.stdout, process.stderr))
            if stream
        ]
        for thread in threads:
            thread.start()
        threading.Thread(target=self._wait, args=(process, threads), daemon=True).start()

    def _read(self, stream: IO[bytes], is_error: int) -> None:
        for line in stream:
            self._lines.put((is_error, line.rstrip(b"\n")))

    def _wait(self, process: subprocess.Popen[bytes], threads: list[threading.Thread]) -> None:
        code = process.wait()
        for thread in threads:
            thread.join(ACTOR_WAIT_S)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lines.put(code if code >= 0 else 128 - code)

    def take(self, told: bytes) -> list[Output]:
        """Write `told` to the process, and return its new output, which may end with the exit code.

        An empty `told` is sent as a heartbeat.
        """
        with contextlib.suppress(OSError, ValueError):
            if self._stdin:
                self._stdin.write(told or b"\n")
                self._stdin.flush()
        taken: list[Output] = []
        with contextlib.suppress(Empty):
            taken.append(self._lines.get(timeout=ACTOR_WAIT_S))
            while True:
                taken.append(self._lines.get_nowait())
        return taken

    def end(self) -> None:
        """End the probe's lifeline."""
        with contextlib.suppress(OSError):
            if self._stdin:
                self._stdin.close()


def main(arguments: list[str]) -> int:
    """Run the probe on all hosts; return 0 if each of them has ended by itself."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int)
    parser.add_argument("port", type=int)
    parser.add_argument("--address", default="auto")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--python", default="")
    parser.add_argument("--lifeline-s", default="60")
    parser.add_argument("--marks", nargs=3, required=True)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _exit)
    os.environ[UV_HOOK] = "0"
    ray = importlib.import_module("ray")
    ray.init(address=options.address, log_to_driver=False, logging_level="ERROR")
    nodes = _nodes(ray.nodes(), options.count)
    if len(nodes) < max(1, options.count):
        print(f"the Ray cluster has {len(nodes)} hosts, too few for this run", file=sys.stderr)
        return 1
    return _Run(ray, nodes, options).run()


def _exit(number: int, _frame: object) -> None:
    sys.exit(128 + number)


class _RayNode(TypedDict):
    Alive: bool
    Labels: dict[str, str] | None
    NodeID: str
    NodeManagerAddress: str
    Resources: dict[str, float]


def _nodes(nodes: list[_RayNode], count: int) -> list[_RayNode]:
    """Return the hosts that take part, ordered by their numbers in the slice."""
    alive = [node for node in nodes if node["Alive"]]
    alive = [node for node in alive if node["Resources"].get(CHIPS)] or alive
    alive.sort(key=lambda node: (_number(node), node["NodeManagerAddress"], node["NodeID"]))
    return alive[: count or None]


def _number(node: _RayNode) -> int:
    labels = node.get("Labels") or {}
    number = labels.get(NUMBER, "")
    return int(number) if number.isdigit() else sys.maxsize


def _read_stdin(size: int) -> bytes:
    data = b""  # unbuffered, because another thread reads what follows
    while len(data) < size and (more := os.read(0, size - len(data))):
        data += more
    return data


class _Run:
    """The actors of one run."""

    def __init__(self, ray: RayObject, nodes: list[_RayNode], options: Namespace) -> None:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        self._ray = ray
        self._options = options
        self._reached, self._placed, self._ended = options.marks
        self._place = ["--coordinator", f"{nodes[0]['NodeManagerAddress']}:{options.port}"]
        self._place += ["--hosts", str(len(nodes))]
        self._probe: RayObject = None
        self._actors: list[RayObject] = []
        self._pending: dict[object, tuple[str, int]] = {}
        self._answered = dict[int, float]()
        for number, node in enumerate(nodes):
            chips = node["Resources"].get(CHIPS)
            actor = ray.remote(RayHost).options(
                num_cpus=0,
                max_concurrency=4,
                resources={CHIPS: chips} if chips else None,
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(
                    node["NodeID"], soft=False
                ),
            )
            host = actor.remote()
            self._actors.append(host)
            self._pending[host.__ray_ready__.remote()] = ("ready", number)
        self._told: SimpleQueue[bytes] = SimpleQueue()
        """Input that follows the probe on stdin, for the first host."""
        self._stopped_at: float | None = None
        self._failed = False

    def run(self) -> int:
        """Forward the output until all hosts have ended."""
        try:
            while self._pending and not self._is_late():
                done, _ = self._ray.wait([*self._pending], timeout=ACTOR_WAIT_S)
                for call in done:
                    self._answer(call, *self._pending.pop(call))
                self._drop_silent()
        finally:
            for actor in self._actors:
                self._ray.kill(actor)
        return int(self._failed)

    def _start(self, number: int) -> None:
        if self._probe is None:
            # The probe and the lifeline's end arrive on stdin only after a host was reached.
            self._probe = self._ray.put(_read_stdin(self._options.size))
            threading.Thread(target=self._watch, daemon=True).start()
        words = ["slice", "--lifeline-s", self._options.lifeline_s]
        words += [*self._place, "--host", str(number)]
        call = self._actors[number].start.remote(self._probe, self._options.python, words)
        self._pending[call] = ("start", number)

    def _watch(self) -> None:
        while data := os.read(0, 4096):
            self._told.put(data)
        self._stopped_at = time.monotonic()
        for actor in self._actors:
            actor.end.remote()

    def _is_late(self) -> bool:
        return self._stopped_at is not None and time.monotonic() > self._stopped_at + FINISH_S

    def _drop_silent(self) -> None:
        limit = time.monotonic() - ANSWER_S
        for call, (what, number) in [*self._pending.items()]:
            if what == "take" and self._answered[number] < limit:
                del self._pending[call]
                self._fail(number, "Ray has had no answer from this host for a minute")

    def _answer(self, call: object, what: str, number: int) -> None:
        self._answered[number] = time.monotonic()
        try:
            answer = self._ray.get(call)
        except Exception as error:  # noqa: BLE001  any error of an actor is its host's failure
            if what == "start" and isinstance(getattr(error, "cause", None), OSError):
                self._fail(number, str(error.cause))  # type: ignore[attr-defined]
                self._say(number, 0, f"{self._ended}127".encode())
            else:
                self._fail(number, str(error))
            return
        if what == "ready":
            self._say(number, 0, self._reached.encode())
            self._start(number)
            return
        if what == "start":
            self._say(number, 0, self._placed.encode())
        for one in answer or ():
            if isinstance(one, int):
                self._say(number, 0, f"{self._ended}{one}".encode())
                return
            self._say(number, *one)
        told = b""
        with contextlib.suppress(Empty):
            while number == 0:
                told += self._told.get_nowait()
        self._pending[self._actors[number].take.remote(told)] = ("take", number)

    def _fail(self, number: int, text: str) -> None:
        self._failed = True
        for line in text.strip().splitlines()[-8:]:
            self._say(number, 1, line.encode())

    def _say(self, number: int, is_error: int, line: bytes) -> None:
        stream = sys.stderr if is_error else sys.stdout
        stream.buffer.write(b"host %d: %s\n" % (number, line))
        stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
