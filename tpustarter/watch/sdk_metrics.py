"""Metrics of libtpu's SDK that the service lacks: matrix unit, throttling and links.

The SDK is libtpu itself, so it runs in the Python under test, in a process of its own that ends
with this one. It is asked once the service has answered, because without a program it is empty.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.core import locations
from tpustarter.core.json_values import is_array, is_object
from tpustarter.core.problem import Problem
from tpustarter.core.redact import Redactor
from tpustarter.running import probe_archive, run_folder
from tpustarter.running.supervised_command import LineLog, SupervisedCommand
from tpustarter.watch.metric_names import MetricName

PROGRAM = locations.PACKAGE / "probe" / "libtpu_sdk.py"
ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",  # without a metadata server it would ask for minutes
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
    "TPU_STDERR_LOG_LEVEL": "3",
    "GRPC_VERBOSITY": "NONE",
}
MOST_VALUES = 512
END_S = 20.0
"""Longest wait for the end of the process; its supervisor kills it after half of that."""

SdkValues = Mapping[str, Sequence[str]]
"""Answers of the SDK by the id of a metric: texts such as `12.50` or `tray1.chip3.ici0.int: 0`."""


def find_sdk_python(
    explicit: str | None, env: Mapping[str, str], folder: Path
) -> interpreters.Interpreter | None:
    """Return the Python under test, or another candidate, that has libtpu's SDK; None without one.

    Raises:
        Problem: `explicit` is not a Python.
    """
    try:
        chosen, others = interpreters.choose_interpreter(explicit, env, folder)
    except Problem:
        if explicit is not None:
            raise
        return None
    candidates = [chosen] if explicit is not None else [chosen, *others]
    return next((one for one in candidates if _has_sdk(one.path)), None)


def _has_sdk(python: Path) -> bool:
    prefix = python.parent.parent
    return any(prefix.glob("lib/python3*/*-packages/libtpu/sdk*.so"))


class SdkFollower:
    """Follows the SDK until `stop`; `values` is its newest complete round."""

    def __init__(
        self, python: Path, names: Sequence[MetricName], env: Mapping[str, str], pause_s: float
    ) -> None:
        self.values: SdkValues = {}
        self.ended: str | None = None
        """A description of the end, if the process ended by itself."""
        self._ids = {",".join(name.sdk): name.id for name in names if name.sdk}
        self._words = [str(python), "-I", str(PROGRAM), str(pause_s), *self._ids]
        self._env = {**env, **ENVIRONMENT}
        self._has_news = threading.Event()
        self._is_stopped = False
        self._command: SupervisedCommand | None = None
        self._thread = threading.Thread(target=self._follow, name="libtpu-sdk", daemon=True)

    def start(self) -> None:
        """Start the process in the background."""
        self._thread.start()

    def wait(self, timeout_s: float) -> None:
        """Wait for the first round, at most some seconds, or until the process has ended."""
        self._has_news.wait(timeout_s)

    def stop(self, *, waits: bool = True) -> None:
        """End the process, and wait for its end; safe in any thread."""
        self._is_stopped = True
        if self._command:
            self._command.stop()
        if waits and self._thread.is_alive():
            self._thread.join(timeout=END_S)

    def _follow(self) -> None:
        folder = run_folder.make_run_folder()
        log = LineLog(folder / "sdk.log", Redactor(self._env))
        try:
            archive = probe_archive.build_probe_archive(folder / "probe.pyz")
            self._command = command = SupervisedCommand(
                self._words, log, archive=archive, env=self._env
            )
            if self._is_stopped:
                command.stop()
            values = dict[str, list[str]]()
            for line in command.lines():
                values = self._take(line, values)
            self.ended = None if self._is_stopped else command.outcome.what
        except Problem as problem:
            self.ended = problem.summary
        finally:
            self._has_news.set()
            log.close()
            run_folder.remove_run_folder(folder)

    def _take(self, line: str, values: dict[str, list[str]]) -> dict[str, list[str]]:
        """Add a line to a round, and return the round, which is empty after its last line."""
        try:
            row: object = json.loads(line)
        except ValueError:
            return values  # libtpu writes its own warnings between the lines
        if is_object(row) and "round" in row:
            self.values = values
            self._has_news.set()
            return {}
        if is_object(row) and is_array(items := row.get("values")):
            known = values.setdefault(self._ids.get(str(row.get("metric")), ""), [])
            known.extend(map(str, items[: MOST_VALUES - len(known)]))
        return values
