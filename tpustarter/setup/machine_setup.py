"""Set-up of the machine itself: settings that only root may change, each with its own way back.

Steps do not need each other here: what cannot be done on this machine is blocked with the reason,
and the others run. What a setting was before is remembered, so that undo puts it back, and what
set-up did not change is left alone. No command gets root unless `root` says that it may.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tpustarter import locations, state
from tpustarter.machine import host
from tpustarter.problem import ExitCode, Problem
from tpustarter.running.command import Lines
from tpustarter.setup import environment as folders
from tpustarter.setup.run import Event, Setup, StepEnded
from tpustarter.setup.steps import State, Step

STATE = "setup-machine"
"""Name of the state: what each set-up of a machine changed, and what was before."""
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
LOGS = "/tmp/tpu_logs"  # noqa: S108 -- where libtpu writes unless told otherwise
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
TMPFILES, LIMITS = "/etc/tmpfiles.d/tpustarter.conf", "/etc/security/limits.d/tpustarter.conf"
FILES = {
    TMPFILES: f"w {HUGE_PAGES} - - - - always\n",
    LIMITS: "* - memlock unlimited\n",
}
"""The files that set-up makes, and what is in them; one that says something else is not ours."""
_ALL_MAY_WRITE = 0o1777
_NO_ROOT = "it needs root, which `--root` allows once you have read its command"

_Look = tuple[State, str, str]
"""How far a step is, why, and what its setting is now."""


class MachineSetup(Setup):
    """The plan for this machine."""

    def __init__(
        self,
        profile: str,
        *,
        machine: host.Machine | None = None,
        lessons: Path | None = None,
        root: bool = False,
    ) -> None:
        """Work out what is left to do; `root` says that commands may run as root."""
        self._may_be_root = root
        self._is_undo = False
        super().__init__(profile, machine=machine, lessons=lessons)

    @property
    def exit_code(self) -> int:
        """Return 0 for done, undone or a plan, 1 for a failed step, 3 for one not done here."""
        failed = any(step.state == "failed" for step in self.steps)
        return int(ExitCode.OK) if self._is_undo and not failed else super().exit_code

    def run(self) -> Iterator[Event]:
        """Run every step that is left and can be done here; raises Problem as `Setup.run` does."""
        self._has_run = True
        with folders.only_one() as lock:
            self._refresh()
            is_left = any(step.state == "todo" for step in self.steps)
            log = self._open_log() if is_left and self._may_be_root else None
            try:
                for index, step in enumerate(self.steps):
                    if step.state == "todo" and not self._may_be_root:
                        yield StepEnded(
                            self._update_step(index, "blocked", _NO_ROOT), 0.0, (), self.log
                        )
                    elif step.state == "blocked":
                        yield StepEnded(step, 0.0, (), self.log)
                    elif log and not self._stopped:
                        yield from self._run_step(index, log, lock)
            finally:
                if log:
                    log.close()

    def removed_by_undo(self) -> list[str]:
        """Return in words what undo puts back; raises Problem where set-up changed nothing."""
        changed = self._changed()
        if not changed:
            raise Problem(
                f"`tpustarter setup {self.profile.name}` has changed nothing on this machine",
                code=ExitCode.INCONCLUSIVE,
            )
        undoing = [step for step in self.steps if step.id in changed]
        return [f"{step.title}: `{self.pasted(self._undo_words(step.id))}`" for step in undoing]

    def undo(self) -> Iterator[Event]:
        """Put back what set-up changed, the last first; raises Problem as `removed_by_undo`."""
        self.removed_by_undo()
        if not self._may_be_root:
            raise Problem(
                "to put it back needs root",
                hint=f"`tpustarter setup {self.profile.name} --undo --yes --root` allows that",
                code=ExitCode.INCONCLUSIVE,
            )
        return self._put_back()

    def _put_back(self) -> Iterator[Event]:
        self._has_run = self._is_undo = True
        with folders.only_one() as lock:
            log = self._open_log()
            try:
                for index, step in reversed(list(enumerate(self.steps))):
                    if step.id not in self._changed() or self._stopped:
                        continue
                    began = time.monotonic()
                    words = self._undo_words(step.id)
                    undoing = replace(step, command=words)
                    failure = yield from self._run_command(undoing, log, lock)
                    end, note = failure or ("undone", "")
                    if not failure:
                        self._remember(step.id, None)
                    ended = self._update_step(index, end, note)
                    tail = tuple(log.last) if failure else ()
                    yield StepEnded(ended, time.monotonic() - began, tail, self.log)
            finally:
                log.close()

    def _refresh(self, after: int = 0) -> None:
        """Work out the steps from number `after` on anew."""
        self.steps[after:] = self._make_steps()[after:]

    def _make_steps(self) -> list[Step]:
        try:
            return [self._make_step(fields) for fields in self._declared()]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Problem(
                f"the steps in the header of `{self.lesson.path}` are broken: {error!r}"
            ) from error

    def _declared(self) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.lesson.header["setups"][self.profile.name])

    def _make_step(self, fields: Mapping[str, Any]) -> Step:
        end, note, _ = LOOKS[fields["id"]](self._machine)
        words = self._as_root([str(word) for word in fields["command"]])
        if end == "todo" and words[0] == "sudo":  # it was not found
            end, note = "blocked", "you are not root here, and there is no `sudo`"
        return Step(
            id=fields["id"], title=fields["title"], why=fields["why"], command=words,
            changes=fields["changes"], needs=tuple(fields["needs"]), proof=fields.get("proof"),
            state=end, note=note,
        )  # fmt: skip

    def _as_root(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return a command as root runs it, and so does who may become root without a password."""
        path = self._machine.env.get("PATH", os.defpath)
        is_root = os.geteuid() == 0 and locations.caller() is None
        first, *others = [*([] if is_root else ["sudo", "-n"]), *words]
        return (shutil.which(first, path=path) or first, *others)

    def _undo_words(self, step_id: str) -> tuple[str, ...]:
        fields = next(one for one in self._declared() if one["id"] == step_id)
        before = str(self._changed()[step_id])
        return self._as_root([str(word).replace("{before}", before) for word in fields["undo"]])

    def _carry_out(
        self, step: Step, log: Lines, lock: int
    ) -> Generator[Event, None, tuple[State, str]]:
        # Told beforehand: what a run did that was killed can be undone as well.
        self._remember(step.id, LOOKS[step.id](self._machine)[2])
        if failure := (yield from self._run_command(step, log, lock)):
            return failure
        end, note, _ = LOOKS[step.id](self._machine)
        if end != "done":
            return "failed", f"the command succeeded, and yet: {note or 'nothing has changed'}"
        return "done", note

    def _changed(self) -> dict[str, str]:
        """Return the steps that set-up carried out here, with what was before."""
        return cast("dict[str, str]", state.load(STATE).get(self.profile.name) or {})

    def _remember(self, step_id: str, before: str | None) -> None:
        """Remember what a setting was before the first change, or with null forget it."""
        changed = self._changed()
        if before is None:
            changed.pop(step_id, None)
        else:
            changed.setdefault(step_id, before)
        state.save(STATE, {**state.load(STATE), self.profile.name: changed})


def _huge_pages(machine: host.Machine) -> _Look:
    text = host.plain(machine.text(HUGE_PAGES) or "", 60)
    found = re.search(r"\[(\w+)\]", text)
    if not found:
        return "blocked", "this kernel has no such setting", ""
    end: State = "done" if found[1] == "always" else "todo"
    return end, f"transparent huge pages: {found[1]}", found[1]


def _after_restart(machine: host.Machine) -> _Look:
    if machine.status("/run/systemd/system") is None:
        return "blocked", "systemd does not run here, and it is what sets this at each start", ""
    return _file(machine, TMPFILES, "it is set at each start; no restart was tried here")


def _locked_memory(machine: host.Machine) -> _Look:
    end, note, before = _file(machine, LIMITS, "a login from now on has no limit")
    limits = machine.text("/proc/self/limits") or ""
    if end == "todo" and re.search(r"^Max locked memory\s+unlimited\s", limits, re.MULTILINE):
        return "done", "there is no limit here", ""
    return end, note, before


def _file(machine: host.Machine, path: str, note: str) -> _Look:
    """Look for a file of ours: made whole by a step, and taken away by undo."""
    text = machine.text(path)
    if text is None:
        folder = path.rpartition("/")[0]
        if machine.status(folder) is None:
            return "blocked", f"there is no folder `{folder}`", ""
        return "todo", "", "absent"
    if text.strip() != FILES[path].strip():
        return "blocked", f"`{path}` says something else than set-up would write", ""
    return "done", f"`{path}` is there; {note}", "absent"


def _logs(machine: host.Machine) -> _Look:
    status = machine.status(LOGS)
    if status is None:
        return "done", f"there is no `{LOGS}` yet; whoever runs first makes it", ""
    mode = stat.S_IMODE(status.st_mode)
    if mode & _ALL_MAY_WRITE == _ALL_MAY_WRITE:
        return "done", f"every user may write to `{LOGS}`", ""
    return (
        "todo",
        f"`{LOGS}` is of user {machine.user_name(status.st_uid)}, mode {mode:o}",
        f"{mode:o}",
    )


def _tcmalloc(machine: host.Machine) -> _Look:
    if machine.status(TCMALLOC) is not None:
        return "done", f"`LD_PRELOAD={TCMALLOC}` before a command makes it use this", "absent"
    if shutil.which("apt-get", path=machine.env.get("PATH", os.defpath)) is None:
        return "blocked", "there is no `apt-get` here", ""
    return "todo", "", "absent"


LOOKS: dict[str, Callable[[host.Machine], _Look]] = {
    "huge-pages": _huge_pages,
    "after-restart": _after_restart,
    "locked-memory": _locked_memory,
    "logs": _logs,
    "tcmalloc": _tcmalloc,
}
"""How to tell the state of each step by looking."""
