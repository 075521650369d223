"""The plan of a set-up: its steps, and the run of one of them as events.

`EnvironmentSetup` and `MachineSetup` know which steps there are, and in which order they run. No
user input goes through a shell, and no command outlives this program.
"""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import host
from tpustarter.running import probe_archive, run_folder
from tpustarter.running.supervised_command import LineLog, SupervisedCommand, find_output_hint
from tpustarter.setup.environment import setup_profiles, steps
from tpustarter.setup.environment.environment_facts import find_home, format_command, shorten_path
from tpustarter.setup.environment.steps import SetupStep, State

SCHEMA = "tpustarter.setup/1"
KEPT_LOGS = 10

_UNSET_ENV = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_PYTHON",
    "PIP_REQUIRE_VIRTUALENV",
    "UV_PYTHON",
    "UV_VENV_CLEAR",
)
"""Variables that would make an installation go to another folder."""
_SET_ENV = {
    "UV_NO_PROGRESS": "1",
    "UV_NO_PROJECT": "1",
    "UV_PYTHON_INSTALL_BIN": "0",
    "PIP_PROGRESS_BAR": "off",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONUNBUFFERED": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
}


@dataclass(frozen=True)
class StepStarted:
    """A step was started."""

    step: SetupStep


@dataclass(frozen=True)
class StepOutput:
    """A running step wrote a line: plain text, redacted and without escape sequences."""

    text: str


@dataclass(frozen=True)
class StepEnded:
    """A step ended; `step.state` and `step.note` have the result and the reason."""

    step: SetupStep
    seconds: float
    tail: tuple[str, ...]
    """The last lines of its output if it failed."""
    log: Path


Event = StepStarted | StepOutput | StepEnded
StepResult = tuple[State, str]
"""The state of a step after its run, and its note."""


class SetupPlan(ABC):
    """The plan for a profile on this machine; `run` carries it out, `stop` ends it from anywhere.

    A stopped set-up cannot be run again; create another one to continue.
    """

    def __init__(
        self,
        profile: str,
        machine: host.Machine,
        lessons: Path | None,
        folder: Path | None = None,
    ) -> None:
        self._machine = machine
        self._home = find_home(self._machine)
        self.profile = setup_profiles.find_profile(profile)
        # abspath removes `..` but keeps links, as in the path that the user typed.
        self.folder = Path(os.path.abspath(folder or self._home / self.profile.folder))  # noqa: PTH100
        if not str(self.folder).isprintable():
            raise Problem(
                f"the folder `{self.folder}` has a character in its name that cannot be shown",
                hint="name another folder with `--folder PATH`",
                code=ExitCode.USAGE,
            )
        self.lesson = steps.find_setup_lesson(self.profile, lessons)
        self.log = locations.make_state_folder() / time.strftime("setup-%Y%m%d-%H%M%S.log")
        self._redact = Redactor({**self._machine.env, "HOME": str(self._home)})
        self._stop_running: Callable[[], None] | None = None
        self._stopped = False
        self._has_run = False
        self.steps: list[SetupStep] = []

    @abstractmethod
    def run(self) -> Iterator[Event]:
        """Run the remaining steps; raises Problem if they cannot be run now."""

    @abstractmethod
    def undo(self) -> Iterator[Event]:
        """Undo the changes of the steps; raises Problem if there are none or undo refuses."""

    @abstractmethod
    def removed_by_undo(self) -> list[str]:
        """Return descriptions of the changes that `undo` reverts; raises Problem as it does."""

    @abstractmethod
    def _make_steps(self) -> list[SetupStep]:
        """Return the steps with their states on this machine."""

    @abstractmethod
    def _carry_out(
        self, step: SetupStep, log: LineLog, lock: int
    ) -> Generator[Event, None, StepResult]:
        """Run a step's command or do what it describes, and return how it ended."""

    def stop(self) -> None:
        """End the running command: TERM, 5 s, KILL; safe in any thread and signal handler."""
        self._stopped = True
        if stop := self._stop_running:
            stop()

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if done or only planned, 1 for a failed step, 3 if stopped or blocked."""
        states = {step.state for step in self.steps}
        if not self._has_run:
            return int(ExitCode.OK)
        if "failed" in states:
            return int(ExitCode.FAILED)
        return int(ExitCode.OK if states <= {"done", "undone", "manual"} else ExitCode.INCONCLUSIVE)

    def fields(self) -> dict[str, object]:
        """Return the `tpustarter.setup/1` document, redacted."""
        document: dict[str, object] = {
            "schema": SCHEMA,
            "profile": self.profile.name,
            "folder": str(self.folder),
            "lesson": self.lesson.id,
            "steps": [{**asdict(step), "file": step.file or None} for step in self.steps],
            "log": str(self.log) if self.log.exists() else None,
        }
        return {**self._redact.redact_value(document), "exit_code": self.exit_code}

    def shorten_path(self, path: Path) -> str:
        """Return a path in the form that a person would type."""
        return shorten_path(path, self._home)

    def format_command(self, command: Sequence[str]) -> str:
        """Return a command that can be pasted into a shell."""
        return format_command(command, self._home)

    def _refresh(self, after: int = 0) -> None:
        self.steps[after:] = self._make_steps()[after:]

    def _open_log(self) -> LineLog:
        logs = sorted(path for path in self.log.parent.glob("setup-*.log") if path != self.log)
        try:
            for path in logs[: max(0, len(logs) - KEPT_LOGS + 1)]:
                path.unlink()
            return LineLog(self.log, self._redact)
        except OSError as error:
            raise Problem(f"cannot write `{self.log}`: {error.strerror or error}") from error

    def _run_step(self, index: int, log: LineLog, lock: int) -> Generator[Event, None, SetupStep]:
        if self.steps[index].state == "done":
            return self.steps[index]
        started_at = time.monotonic()
        step = self._update_step(index, "running", "")
        yield StepStarted(step)
        log.last.clear()
        try:
            state, note = yield from self._carry_out(step, log, lock)
        except Problem as problem:
            state, note = "failed", steps.format_note(problem.full_text, problem.hint)
        if self._stopped and state != "done":
            said = note if state == "todo" and note else "stopped before it was done"
            state, note = "todo", f"{said}; run this again to go on"
        step = self._update_step(index, state, self._redact.redact_text(note))
        for line in f"{step.id}: {state} {note}".splitlines():
            log.note(line)
        tail = tuple(log.last) if state == "failed" else ()
        yield StepEnded(step, time.monotonic() - started_at, tail, self.log)
        if state == "done":
            self._refresh(index + 1)
        return step

    def _update_step(self, index: int, state: State, note: str) -> SetupStep:
        self.steps[index] = replace(self.steps[index], state=state, note=note)
        return self.steps[index]

    def _run_command(
        self, step: SetupStep, log: LineLog, lock: int
    ) -> Generator[Event, None, StepResult | None]:
        work_folder = run_folder.make_run_folder()
        env = {key: value for key, value in self._machine.env.items() if key not in _UNSET_ENV}
        command = SupervisedCommand(
            step.command,
            log,
            archive=probe_archive.build_probe_archive(work_folder / "probe.pyz"),
            env={**env, **_SET_ENV},
            keep=lock,
            as_root="root" in step.needs,
        )
        self._stop_running = command.stop
        if self._stopped:  # stop() was called before there was a command
            command.stop()
        lines = command.lines()
        try:
            while (line := next(lines, None)) is not None:
                yield StepOutput(line)
        finally:
            self._stop_running = None
            lines.close()
            run_folder.remove_run_folder(work_folder)
        outcome = command.outcome
        if outcome.code == 0:
            return None
        if self._stopped:
            return "todo", outcome.what
        last_output = "\n".join([*log.last, outcome.what])
        programs = (Path(word).name for word in step.command)
        python = next(
            (name for name in programs if re.fullmatch(r"python3[\d.]*", name)), "python3"
        )
        hint = find_output_hint(last_output, self.shorten_path(self.folder), python)
        return "failed", steps.format_note(outcome.what, hint)
