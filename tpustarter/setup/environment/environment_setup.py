"""Set-up of an environment: creates one with a framework, proves it, records it, can undo it.

The remaining steps are determined from the machine, so a run that was interrupted anywhere
continues where it stopped. No command gets administrator rights.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import locations
from tpustarter.machine import host
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.running.supervised_command import LineLog
from tpustarter.setup.environment import environment_proof, setup_profiles, steps
from tpustarter.setup.environment import made_environment as folders
from tpustarter.setup.environment.environment_facts import (
    EnvironmentFacts,
    collect_environment_facts,
)
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.setup_plan import Event, SetupPlan, StepEnded, StepOutput, StepResult
from tpustarter.text import phrases


class EnvironmentSetup(SetupPlan):
    """The set-up of a profile's environment: its steps, their run, and its removal."""

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
        super().__init__(profile, machine or host.Machine(), lessons, folder)
        self._checks = checks
        self._own = own
        self._refresh()

    def _make_steps(self) -> list[SetupStep]:
        self._facts = self._collect_facts()
        return steps.list_steps(self.lesson, self._facts)

    def _collect_facts(self) -> EnvironmentFacts:
        return collect_environment_facts(self.profile, self.folder, self._machine, self._own)

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

    def _carry_out(
        self, step: SetupStep, log: LineLog, lock: int
    ) -> Generator[Event, None, StepResult]:
        if self._stopped:
            return "todo", ""
        if step.id == "remember":
            environments.remember_environment(self.folder, self.profile.key)
            return "done", self.profile.registered_text.format(folder=self._facts.folder_text)
        if step.file:
            locations.write_user_file(Path(step.file), "".join(f"{line}\n" for line in step.writes))
            locations.chown_to_caller(Path(step.file))
            return "done", f"{self.shorten_path(Path(step.file))} is there"
        if step.id == "prove":
            return (yield from self._prove(step, log))
        if step.id == "environment":
            folders.prepare_folder(self.folder, self.profile.name)
        if "install" in self._facts.done:  # until it succeeds, packages may lack files
            folders.write_marker(self.folder, done=["environment"])
        failure = yield from self._run_command(step, log, lock)
        return failure or self._record(step)

    def _record(self, step: SetupStep) -> StepResult:
        # The result of a command is verified on disk before the marker records it.
        if step.id != "python" and not os.access(self.folder / "bin/python", os.X_OK):
            return "failed", f"there is no `{self._facts.folder_text}/bin/python`"
        if step.id == "environment":
            folders.write_marker(self.folder, done=["environment"])
        facts = self._collect_facts()
        if step.id == "python":
            return "done", f"uv keeps it at {facts.python}" if facts.python else "uv keeps it"
        if step.id == "environment":
            return "done", f"{facts.folder_text} has Python {facts.version}"
        installed = {package.split()[0] for package in facts.installed}
        if missing := [name for name in self.profile.packages if name not in installed]:
            return "failed", f"the command succeeded, but {missing[0]} is not there"
        packages = folders.list_packages(self.folder)
        folders.write_marker(
            self.folder, done=["environment", "install"], wheel=self._facts.wheel, packages=packages
        )
        names = {*self.profile.packages, "libtpu"}
        versions = [package for package in packages if package.split()[0] in names]
        return "done", ", ".join(versions or facts.installed)

    def _prove(self, step: SetupStep, log: LineLog) -> Generator[Event, None, StepResult]:
        make_proof = environment_proof.PROOFS[self.profile.command]
        running_proof = make_proof(step, self._facts, self._machine, self._checks)
        self._stop_running = running_proof.stop
        if self._stopped:
            running_proof.stop()
        try:
            for line in running_proof.lines():
                log.write(f"{line}\n".encode())
                while log.fresh:
                    yield StepOutput(log.fresh.popleft())
        finally:
            self._stop_running = None
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
