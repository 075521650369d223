"""Set-up: makes an environment with a framework, proves it, remembers it, and can undo it.

What is left to do is worked out by looking, so a run that was interrupted anywhere goes on where
it was. Steps are data in a lesson's header; this module runs them. No command gets administrator
rights, none goes through a shell, and none outlives this program.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tpustarter import archive, host, interpreters, locations, steps
from tpustarter import environment as folders
from tpustarter.command import Command, Lines, hint
from tpustarter.environment import environment
from tpustarter.problem import ExitCode, Problem
from tpustarter.report import text, verdict
from tpustarter.report.redact import Redactor
from tpustarter.report.results import Run
from tpustarter.runner import Seen
from tpustarter.selfcheck import Began, Request, SelfCheck
from tpustarter.steps import State, Step

__all__ = ["Setup", "Step", "StepEnded", "StepOutput", "StepStarted", "environment"]

SCHEMA = "tpustarter.setup/1"
KEPT_LOGS = 10

_REMOVED = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET",
            "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_REQUIRE_VIRTUALENV", "UV_PYTHON",
            "UV_VENV_CLEAR")  # fmt: skip
"""Variables that would lead an installation into another place."""
_SET = {
    "UV_NO_PROGRESS": "1", "UV_NO_PROJECT": "1", "UV_PYTHON_INSTALL_BIN": "0",
    "PIP_PROGRESS_BAR": "off", "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "TERM": "dumb",
}  # fmt: skip


@dataclass(frozen=True)
class StepStarted:
    """A step was started."""

    step: Step


@dataclass(frozen=True)
class StepOutput:
    """A running step wrote a line: plain text without escape sequences and secrets."""

    text: str


@dataclass(frozen=True)
class StepEnded:
    """A step ended: `step.state` says how, `step.note` why."""

    step: Step
    seconds: float
    tail: tuple[str, ...]
    """The last lines of its own when it failed."""
    log: Path


Event = StepStarted | StepOutput | StepEnded
_End = tuple[State, str]


class Setup:
    """The plan for a profile on this machine. `run` carries it out, `stop` ends it from anywhere.

    Once stopped it stays so: make another one to go on.
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
        """Work out what is left to do; nothing is started, and only a state folder is made.

        Args:
            profile: A `profile` in a lesson's header.
            machine: Where to look; null for this one.
            folder: Where the environment is made; null for `~/tpu`.
            lessons: Folder of lessons; null for those that ship.
            checks: Folder of checks; null for those that ship.
            own: Folders of programs where uv may lie beside this Python; null for its own.

        Raises:
            Problem: there is no such profile, or no state folder.
        """
        self._machine = machine or host.Machine()
        home = steps.home_of(self._machine)
        # abspath: `..` is taken out and links are kept, as in the path a person typed.
        self.folder = Path(os.path.abspath(folder or home / "tpu"))  # noqa: PTH100
        if not str(self.folder).isprintable():
            raise Problem(
                f"the folder {str(self.folder)!r} has a character in its name that is not shown",
                hint="name another one with `--folder PATH`",
                code=ExitCode.USAGE,
            )
        self.profile = profile
        self.lesson = steps.lesson_of(profile, lessons)
        self.log = locations.state() / time.strftime("setup-%Y%m%d-%H%M%S.log")
        self._checks = checks
        self._own = own
        self._redact = Redactor({**self._machine.env, "HOME": str(home)})
        self._running: Command | SelfCheck | None = None
        self._stopped = False
        self._ran = False
        self._facts = steps.look(self.folder, self._machine, own)
        self.steps: list[Step] = steps.steps_of(self.lesson, self._facts)

    def stop(self) -> None:
        """End the running command: TERM, 5 s, KILL; safe in any thread and signal handler."""
        self._stopped = True
        running = self._running
        if running:
            running.stop()

    @property
    def exit_code(self) -> int:
        """Return 0 for done or a plan, 1 for a failed step, 3 for interrupted or blocked."""
        states = {step.state for step in self.steps}
        if not self._ran:
            return int(ExitCode.OK)
        if "failed" in states:
            return int(ExitCode.FAILED)
        return int(ExitCode.OK if states <= {"done", "undone"} else ExitCode.INCONCLUSIVE)

    def fields(self) -> dict[str, Any]:
        """Return the document `tpustarter.setup/1`, without secrets and the home's name."""
        told: dict[str, Any] = {
            "schema": SCHEMA,
            "profile": self.profile,
            "folder": str(self.folder),
            "lesson": self.lesson.id,
            "steps": [_step_fields(step) for step in self.steps],
            "log": str(self.log) if self.log.exists() else None,
        }
        return {**self._redact.value(told), "exit_code": self.exit_code}

    def run(self) -> Iterator[Event]:
        """Run what is left to do, up to the first step that does not end well.

        Raises:
            Problem: another set-up runs, or there is no room for a log.
        """
        self._ran = True
        with folders.only_one() as lock:
            self._look()  # another set-up may have ended since
            blocked = next((step for step in self.steps if step.state == "blocked"), None)
            if blocked:
                yield StepEnded(blocked, 0.0, (), self.log)
                return
            if all(step.state == "done" for step in self.steps):
                return
            log = self._open_log()
            try:
                for place in range(len(self.steps)):
                    ended = yield from self._step(place, log, lock)
                    if ended.state != "done":
                        return
            finally:
                log.close()

    def undo(self) -> Iterator[Event]:
        """Remove the environment that set-up made, and forget it.

        Raises:
            Problem: at once, when the folder is not ours or holds what set-up did not put there.
        """
        folders.refuse_strangers(self.folder)
        return self._undo()

    def short(self, path: Path) -> str:
        """Return a path as a person would type it."""
        return self._facts.short(path)

    def pasted(self, command: Sequence[str]) -> str:
        """Return a command as it can be pasted into a shell."""
        return self._facts.pasted(command)

    def removed_by_undo(self) -> list[str]:
        """Return in words what `undo` removes; raises Problem where it refuses."""
        known = folders.refuse_strangers(self.folder)
        what = "the folder" if known.get("made_folder") else "what is in the folder"
        told = [f"{what} {self._facts.shown}"]
        later = set(folders.packages(self.folder)) - set(known.get("packages") or ())
        if later and "install" in self._facts.done:
            told.append(f"with packages installed since: {', '.join(sorted(later))}")
        if folders.environment() == self.folder:
            told.append("its place among the environments that `tpustarter check` looks for")
        return told

    def _undo(self) -> Iterator[Event]:
        self._ran = True
        began = time.monotonic()
        with folders.only_one():
            folders.remove(self.folder)
        self._look()
        for place, step in reversed(list(enumerate(self.steps))):
            if step.id != "python":  # whatever else uses that Python: it stays
                ended = self._set(place, "undone", "")
                yield StepEnded(ended, time.monotonic() - began, (), self.log)

    def _look(self, after: int = 0) -> None:
        """Work out the steps from number `after` on anew."""
        self._facts = steps.look(self.folder, self._machine, self._own)
        self.steps[after:] = steps.steps_of(self.lesson, self._facts)[after:]

    def _open_log(self) -> Lines:
        logs = sorted(path for path in self.log.parent.glob("setup-*.log") if path != self.log)
        try:
            for path in logs[: max(0, len(logs) - KEPT_LOGS + 1)]:
                path.unlink()
            return Lines(self.log, self._redact)
        except OSError as error:
            raise Problem(f"cannot write `{self.log}`: {error.strerror or error}") from error

    def _step(self, place: int, log: Lines, lock: int) -> Generator[Event, None, Step]:
        """Run one step unless it is done; returns it as it ended."""
        if self.steps[place].state == "done":
            return self.steps[place]
        began = time.monotonic()
        step = self._set(place, "running", "")
        yield StepStarted(step)
        log.last.clear()
        try:
            state, note = yield from self._carry_out(step, log, lock)
        except Problem as problem:
            state, note = "failed", _lines(problem.what, problem.hint)
        if self._stopped and state != "done":
            state, note = "todo", "stopped before it was done; run this again to go on"
        step = self._set(place, state, self._redact.text(note))
        log.note(f"{step.id}: {state} {note}")
        tail = tuple(log.last) if state == "failed" else ()
        yield StepEnded(step, time.monotonic() - began, tail, self.log)
        if state == "done":
            self._look(place + 1)
        return step

    def _set(self, place: int, state: State, note: str) -> Step:
        self.steps[place] = replace(self.steps[place], state=state, note=note)
        return self.steps[place]

    def _carry_out(self, step: Step, log: Lines, lock: int) -> Generator[Event, None, _End]:
        if self._stopped:
            return "todo", ""
        if step.id == "remember":
            folders.remember(self.folder)
            return "done", f"{self._facts.shown} is tested when no other environment is active"
        if step.proof:
            return (yield from self._prove(step.proof, log))
        if step.id == "environment":
            folders.make(self.folder, self.profile)
        if "install" in self._facts.done:  # until it is again, what is there may lack files
            folders.mark(self.folder, done=["environment"])
        failed = yield from self._command(step, log, lock)
        return failed or self._record(step)

    def _command(self, step: Step, log: Lines, lock: int) -> Generator[Event, None, _End | None]:
        """Run a step's command; returns None when it ended well."""
        work = locations.run_folder()
        env = {key: value for key, value in self._machine.env.items() if key not in _REMOVED}
        command = Command(step.command, log, archive=archive.build(work / "probe.pyz"),
                          env={**env, **_SET}, keep=lock)  # fmt: skip
        self._running = command
        if self._stopped:  # stop() came while there was none to reach
            command.stop()
        lines = command.lines()
        try:
            while (line := next(lines, None)) is not None:
                yield StepOutput(line)
        finally:
            self._running = None
            lines.close()
        outcome = command.outcome
        if outcome.code == 0:
            return None
        said = "\n".join([*log.last, outcome.what])
        python = self._facts.python.name if self._facts.python else "python3"
        return "failed", _lines(outcome.what, hint(said, self._facts.shown, python))

    def _record(self, step: Step) -> _End:
        """Note in the folder's marker what a command achieved; it is looked at, not believed."""
        if step.id == "python":
            found = steps.look(self.folder, self._machine, self._own).python
            return "done", f"uv keeps it at {found}" if found else "uv keeps it"
        if not os.access(self.folder / "bin/python", os.X_OK):
            return "failed", f"there is no `{self._facts.shown}/bin/python`"
        if step.id == "environment":
            folders.mark(self.folder, done=["environment"])
            facts = steps.look(self.folder, self._machine, self._own)
            return "done", f"{facts.shown} has Python {facts.version}"
        names = interpreters.installed(self.folder)
        if not any(name.split()[0] == self.profile for name in names):
            return "failed", f"the command ended well, and {self.profile} is not there"
        packages = folders.packages(self.folder)
        folders.mark(self.folder, done=["environment", "install"], wheel=self._facts.wheel,
                     packages=packages)  # fmt: skip
        inside = [one for one in packages if one.split()[0] in ("jax", "libtpu")]
        return "done", ", ".join(inside)

    def _prove(self, check: str, log: Lines) -> Generator[Event, None, _End]:
        """Run a check in the environment, on this host alone where it is one of many."""
        request = Request(ids=(check,), python=str(self.folder), this_host=True)
        proof = SelfCheck(request, machine=self._machine, checks=self._checks)
        self._running = proof
        if self._stopped:
            proof.stop()
        try:
            for event in proof.events():
                if isinstance(event, Began):
                    yield from self._say(text.opening(event.run), log)
                elif isinstance(event, Seen):
                    yield from self._say(text.finding_line(event.finding), log)
        finally:
            self._running = None
        yield from self._say(text.headline(proof.run), log)
        return self._judge(proof.run, log)

    def _say(self, said: str, log: Lines) -> Iterator[StepOutput]:
        log.write(f"{said}\n".encode())
        while log.fresh:
            yield StepOutput(log.fresh.popleft())

    def _judge(self, run: Run, log: Lines) -> _End:
        """Say whether the check proved the environment: on a TPU machine only a TPU does."""
        if run.blocked:
            waits = run.blocked.code in (ExitCode.BUSY, ExitCode.DENIED, ExitCode.INCONCLUSIVE)
            return "blocked" if waits else "failed", _lines(run.blocked.what, run.blocked.hint)
        result = run.results[0]
        if result.status not in ("pass", "warn"):
            for line in result.log.splitlines():
                log.write(f"{line}\n".encode())
            log.fresh.clear()
            failing = (one for one in result.findings if one["verdict"] == "fail")
            hints = [str(one["hint"]) for one in failing if one["hint"]]
            shown = f"`tpustarter check {result.id} --python {self._facts.shown} -v` shows all"
            return "failed", _lines(text.summary(result), hints[0] if hints else shown)
        on = verdict.verified_on(run)
        if self._facts.on_tpu and on != "tpu":
            asked = self._machine.env.get("JAX_PLATFORMS")
            hint = "`unset JAX_PLATFORMS`, then run this again" if asked else None
            return "failed", _lines(f"found it on {text.place(run)}, expected a TPU", hint)
        names = interpreters.installed(self.folder)
        told = f"{', '.join(names)} computes on {text.place(run)}"
        told += "" if on == "tpu" else "; no TPU was tested"
        proof = {"check": result.id, "text": told, "frameworks": names, "on_tpu": on == "tpu"}
        folders.mark(self.folder, proof=proof)
        return "done", told


def _lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _step_fields(step: Step) -> dict[str, Any]:
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
    }
