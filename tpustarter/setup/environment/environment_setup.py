"""Set-up of an environment: creates one with a framework, proves it, records it, can undo it.

The remaining steps are determined from the machine, so a run that was interrupted anywhere
continues where it stopped. Steps are data in a lesson's header; this module runs them. No command
gets administrator rights in this module (`machine_setup` asks for them), no user input goes through
a shell, and no command outlives this program.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import host
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.running import probe_archive, run_folder
from tpustarter.running.supervised_command import LineLog, SupervisedCommand, find_output_hint
from tpustarter.setup.environment import environment_proof, setup_profiles, steps
from tpustarter.setup.environment import made_environment as folders
from tpustarter.setup.environment.environment_facts import collect_environment_facts, find_home
from tpustarter.setup.environment.environment_proof import StepProof
from tpustarter.setup.environment.steps import SetupStep, State
from tpustarter.text import phrases

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
_End = tuple[State, str]


class EnvironmentSetup:
    """The plan for a profile on this machine; `run` carries it out, `stop` ends it from anywhere.

    A stopped set-up cannot be run again; create another one to continue.
    """

    def __init__(
        self,
        profile: str = "jax",
        *,
        machine: host.Machine | None = None,
        folder: Path | None = None,
        lessons: Path | None = None,
        checks: Path | None = None,
        own: Sequence[Path] | None = None,
    ) -> None:
        """Determine the remaining steps; nothing is started, and only a state folder is created.

        Args:
            profile: A name in `profiles`.
            machine: The machine; None for this one.
            folder: The environment's folder; None for the profile's own, such as `~/tpu`.
            lessons: Folder of lessons; None for the built-in ones.
            checks: Folder of checks; None for the built-in ones.
            own: Folders to search for uv; None for those of this Python.

        Raises:
            Problem: The profile is unknown, there is no state folder, or the folder contains
                another profile's environment.
        """
        self._machine = machine or host.Machine()
        home = find_home(self._machine)
        self.profile = setup_profiles.find_profile(profile)
        # abspath removes `..` but keeps links, as in the path that the user typed.
        self.folder = Path(os.path.abspath(folder or home / self.profile.folder))  # noqa: PTH100
        if not str(self.folder).isprintable():
            raise Problem(
                f"the folder `{self.folder}` has a character in its name that cannot be shown",
                hint="name another folder with `--folder PATH`",
                code=ExitCode.USAGE,
            )
        self.lesson = steps.find_setup_lesson(self.profile, lessons)
        self.log = locations.make_state_folder() / time.strftime("setup-%Y%m%d-%H%M%S.log")
        self._checks = checks
        self._own = own
        self._redact = Redactor({**self._machine.env, "HOME": str(home)})
        self._running: SupervisedCommand | StepProof | None = None
        self._stopped = False
        self._has_run = False
        self._facts = collect_environment_facts(self.profile, self.folder, self._machine, own)
        self.steps: list[SetupStep] = self._make_steps()

    def _make_steps(self) -> list[SetupStep]:
        return steps.list_steps(self.lesson, self._facts)

    def stop(self) -> None:
        """End the running command: TERM, 5 s, KILL; safe in any thread and signal handler."""
        self._stopped = True
        running = self._running
        if running:
            running.stop()

    @property
    def kernel_note(self) -> str:
        """On Colab and Kaggle: the preinstalled packages, which the plan keeps; else empty."""
        service = find_notebook_service(self._machine.env)
        if service is None:
            return ""
        env = self._machine.env
        python = Path(shutil.which("python3", path=env.get("PATH")) or "/usr/bin/python3")
        versions = interpreters.read_framework_versions(python.parents[1], env)
        names = phrases.join_words([f"{name} {version}" for name, version in versions.items()])
        return (
            f"This is a notebook of {service.name}. The plan installs nothing into the Python of "
            f"its cells. That keeps {names or 'its packages'}, and can't use the new environment."
        )

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
            "steps": [_step_fields(step) for step in self.steps],
            "log": str(self.log) if self.log.exists() else None,
        }
        return {**self._redact.redact_value(document), "exit_code": self.exit_code}

    def run(self) -> Iterator[Event]:
        """Run the remaining steps, stopping at the first that fails.

        Raises:
            Problem: Another set-up is running, or the log cannot be written.
        """
        self._has_run = True
        with folders.hold_setup_lock() as lock:
            self._refresh()  # another set-up may have ended since
            blocked = next((step for step in self.steps if step.state == "blocked"), None)
            if blocked:
                yield StepEnded(blocked, 0.0, (), self.log)
                return
            if all(step.state == "done" for step in self.steps):
                return
            log = self._open_log()
            try:
                for index in range(len(self.steps)):
                    ended = yield from self._run_step(index, log, lock)
                    if ended.state != "done":
                        return
            finally:
                log.close()

    def undo(self) -> Iterator[Event]:
        """Remove the environment that set-up created, and its record.

        Raises:
            Problem: Immediately, if the folder is not set-up's or contains other files.
        """
        folders.require_removable(self.folder)
        return self._undo()

    @property
    def sizes(self) -> tuple[str, str] | None:
        """Sizes of the remaining download and installation, or None if nothing remains."""
        is_left = any(step.id == "install" and step.state != "done" for step in self.steps)
        return setup_profiles.SIZES.get(self._facts.wheel) if is_left else None

    def shorten_path(self, path: Path) -> str:
        """Return a path in the form that a person would type."""
        return self._facts.shorten_path(path)

    def format_command(self, command: Sequence[str]) -> str:
        """Return a command that can be pasted into a shell."""
        return self._facts.format_command(command)

    def removed_by_undo(self) -> list[str]:
        """Return descriptions of everything that `undo` removes.

        Raises:
            Problem: `undo` would refuse to remove it.
        """
        marker = folders.require_removable(self.folder)
        what = "the folder" if marker.made_folder else "what is in the folder"
        removals = [f"{what} {self._facts.folder_text}"]
        added = set(folders.list_packages(self.folder)) - set(marker.packages or ())
        if added and "install" in self._facts.done:
            removals.append(f"with packages installed since: {', '.join(sorted(added))}")
        if environments.find_proved_environment(self.profile.key) == self.folder:
            command = f"`tpustarter {self.profile.next_command}`"
            removals.append(f"its place among the environments that {command} looks for")
        return removals

    def _undo(self) -> Iterator[Event]:
        self._has_run = True
        started_at = time.monotonic()
        with folders.hold_setup_lock():
            folders.remove_environment(self.folder)
        self._refresh()
        for index, step in reversed(list(enumerate(self.steps))):
            if step.id != "python":  # other programs may use that Python, so it stays
                ended = self._update_step(index, "undone", "")
                yield StepEnded(ended, time.monotonic() - started_at, (), self.log)

    def _refresh(self, after: int = 0) -> None:
        self._facts = collect_environment_facts(self.profile, self.folder, self._machine, self._own)
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
            state, note = "failed", _join_lines(problem.full_text, problem.hint)
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

    def _carry_out(self, step: SetupStep, log: LineLog, lock: int) -> Generator[Event, None, _End]:
        if self._stopped:
            return "todo", ""
        if step.id == "remember":
            environments.remember_environment(self.folder, self.profile.key)
            return "done", self.profile.registered_text.format(folder=self._facts.folder_text)
        if step.file:
            locations.write_user_file(Path(step.file), "".join(f"{line}\n" for line in step.writes))
            locations.chown_to_caller(Path(step.file))
            return "done", f"{self._facts.shorten_path(Path(step.file))} is there"
        if step.id == "prove":
            return (yield from self._prove(step, log))
        if step.id == "environment":
            folders.prepare_folder(self.folder, self.profile.name)
        if "install" in self._facts.done:  # until it succeeds, packages may lack files
            folders.write_marker(self.folder, done=["environment"])
        failure = yield from self._run_command(step, log, lock)
        return failure or self._record(step)

    def _run_command(
        self, step: SetupStep, log: LineLog, lock: int
    ) -> Generator[Event, None, _End | None]:
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
        self._running = command
        if self._stopped:  # stop() was called before there was a command
            command.stop()
        lines = command.lines()
        try:
            while (line := next(lines, None)) is not None:
                yield StepOutput(line)
        finally:
            self._running = None
            lines.close()
            run_folder.remove_run_folder(work_folder)
        outcome = command.outcome
        if outcome.code == 0:
            return None
        if self._stopped:
            return "todo", outcome.what
        last_output = "\n".join([*log.last, outcome.what])
        python = self._facts.python.name if self._facts.python else "python3"
        return "failed", _join_lines(
            outcome.what, find_output_hint(last_output, self._facts.folder_text, python)
        )

    def _record(self, step: SetupStep) -> _End:
        # The result of a command is verified on disk before the marker records it.
        if step.id == "python":
            python = collect_environment_facts(
                self.profile, self.folder, self._machine, self._own
            ).python
            return "done", f"uv keeps it at {python}" if python else "uv keeps it"
        if not os.access(self.folder / "bin/python", os.X_OK):
            return "failed", f"there is no `{self._facts.folder_text}/bin/python`"
        if step.id == "environment":
            folders.write_marker(self.folder, done=["environment"])
            facts = collect_environment_facts(self.profile, self.folder, self._machine, self._own)
            return "done", f"{facts.folder_text} has Python {facts.version}"
        facts = collect_environment_facts(self.profile, self.folder, self._machine, self._own)
        installed = {package.split()[0] for package in facts.installed}
        if missing := [name for name in self.profile.packages if name not in installed]:
            return "failed", f"the command succeeded, but {missing[0]} is not there"
        packages = folders.list_packages(self.folder)
        folders.write_marker(
            self.folder, done=["environment", "install"], wheel=self._facts.wheel, packages=packages
        )
        told = {*self.profile.packages, "libtpu"}
        versions = [package for package in packages if package.split()[0] in told]
        return "done", ", ".join(versions or facts.installed)

    def _prove(self, step: SetupStep, log: LineLog) -> Generator[Event, None, _End]:
        make_proof = environment_proof.PROOFS[self.profile.command]
        running_proof = make_proof(step, self._facts, self._machine, self._checks)
        self._running = running_proof
        if self._stopped:
            running_proof.stop()
        try:
            for line in running_proof.lines():
                yield from self._log_line(line, log)
        finally:
            self._running = None
        outcome = running_proof.outcome
        for line in outcome.log.splitlines():
            log.write(f"{line}\n".encode())
        log.fresh.clear()
        if outcome.state == "done":
            details = {"check": step.proof, "text": outcome.note, "on_tpu": self._facts.on_tpu}
            folders.write_marker(
                self.folder, proof={**details, "frameworks": self._facts.installed}
            )
        return outcome.state, outcome.note

    def _log_line(self, line: str, log: LineLog) -> Iterator[StepOutput]:
        log.write(f"{line}\n".encode())
        while log.fresh:
            yield StepOutput(log.fresh.popleft())


def _join_lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _step_fields(step: SetupStep) -> dict[str, object]:
    return {
        "id": step.id,
        "title": step.title,
        "why": step.why,
        "command": list(step.command),
        "state": step.state,
        "note": step.note,
        "changes": step.changes,
        "needs": list(step.needs),
        "proof": step.proof,
        "file": step.file or None,
        "writes": list(step.writes),
    }
