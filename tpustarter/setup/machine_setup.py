"""Set-up of the machine itself: packages, files and settings, each with its own way back.

A step says in `look` how its state is seen (`looks`), and in `after` which steps have to be done
before it. What cannot be done on this machine is blocked with the reason, and the others run. What
was there before is remembered, so that undo puts it back, and what set-up did not change is left
alone. A step runs as root only where it needs that, and where `root` says that it may.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tpustarter.machine import host
from tpustarter.problem import ExitCode, Problem
from tpustarter.running.command import Lines
from tpustarter.setup import as_root, looks, servers, values
from tpustarter.setup import environment as folders
from tpustarter.setup.changes import PROVED, VALUES, Changes, circumstances
from tpustarter.setup.facts import home_of
from tpustarter.setup.kind import Look
from tpustarter.setup.only import wanted
from tpustarter.setup.run import Event, Setup, StepEnded
from tpustarter.setup.steps import State, Step

_FIELDS = {"id", "title", "why", "look", "command", "undo", "changes", "needs", "after", "where",
           "proof"}  # fmt: skip


class MachineSetup(Setup):
    """The plan for this machine."""

    def __init__(
        self,
        profile: str,
        *,
        machine: host.Machine | None = None,
        lessons: Path | None = None,
        root: as_root.Leave = False,
        told: Mapping[str, str] | None = None,
        only: Sequence[str] = (),
    ) -> None:
        """Work out what is left to do.

        Args:
            profile: A name in `profiles.MACHINE`.
            machine: Where to look; null for this one.
            lessons: Folder of lessons; null for those that ship.
            root: Whether steps that need root may run, or with which commands they may.
            told: Values by name, as `--set` gives them.
            only: Steps to be shown and run, with those that have to come before; empty for all.

        Raises:
            Problem: there is no such profile or step, or a value is not what it has to be.
        """
        self._root = root
        self._refused = ""
        """Why sudo did not run a command."""
        self._is_undo = False
        self._told = dict(told or {})
        self._only = tuple(only)
        self._changes = Changes(profile)
        machine = machine or host.Machine()
        home = str(home_of(machine))  # under sudo, of the one who called it
        super().__init__(
            profile, machine=replace(machine, env={**machine.env, "HOME": home}), lessons=lessons
        )

    @property
    def exit_code(self) -> int:
        """Return 0 for done, undone or a plan, 1 for a failed step, 3 for one not done here."""
        failed = any(step.state == "failed" for step in self.steps)
        is_put_back = self._is_undo and not failed and not self._stopped
        return int(ExitCode.OK) if is_put_back else super().exit_code

    @property
    def missing(self) -> list[values.Value]:
        """Return the values that nobody has told yet."""
        return [one for one in self._values if self._chosen[one.name] is None]

    @property
    def chosen(self) -> dict[values.Value, str | None]:
        """Return the values that the steps are filled with: as told, as remembered, or null."""
        return {one: self._chosen[one.name] for one in self._values}

    def fields(self) -> dict[str, Any]:
        """Return the document of `Setup.fields`, with the values that the steps are filled with."""
        told = [
            {"name": one.name, "meaning": one.meaning, "value": self._chosen[one.name]}
            for one in self._values
        ]
        return {**super().fields(), "values": self._redact.value(told)}

    def needs_root(self, *, undo: bool = False) -> bool:
        """Tell whether what is left to do, or to put back, needs root."""
        if undo:
            ids = self._to_put_back()
            return any("root" in step.needs for step in self.steps if step.id in ids)
        return any("root" in step.needs for step in self.steps if step.state == "todo")

    def run(self) -> Iterator[Event]:
        """Run every step that is left and can be done here; raises Problem as `Setup.run` does."""
        if self.missing:
            raise values.untold(self.missing, self.profile.name)
        return self._run()

    def _run(self) -> Iterator[Event]:
        self._has_run = True
        with folders.only_one() as lock:
            self._refresh()
            allowed = [
                step for step in self.steps
                if step.state == "todo" and not self._forbidden(step)
            ]  # fmt: skip
            log = self._open_log() if allowed else None
            if allowed and self._values:
                self._changes.store(VALUES, self._chosen)
            self._settle()
            try:
                for index in range(len(self.steps)):
                    if self._stopped:
                        break
                    step = self.steps[index]
                    if step.state == "todo" and (reason := self._reason_against(step)):
                        step = self._update_step(index, "blocked", reason)
                    if step.state == "blocked":
                        yield StepEnded(step, 0.0, (), self.log)
                    elif log and step.state == "todo":
                        yield from self._run_step(index, log, lock)
            finally:
                if log:
                    log.close()

    def _settle(self) -> None:
        """Note what came with a step that was done when its run was killed."""
        changed = self._changes.befores()
        for step in self.steps:
            kind = self._kinds[step.id]
            if kind and step.state == "done" and step.id in changed:
                self._changes.remember(step.id, kind.settled(changed[step.id]), anew=True)

    def _reason_against(self, step: Step) -> str:
        """Return why a step that is left may not run now."""
        if reason := self._forbidden(step):
            return reason
        done = {one.id for one in self.steps if one.state == "done"}
        waiting = [name for name in self._after[step.id] if name not in done]
        return f"`{waiting[0]}` comes first, and it is not done" if waiting else ""

    def can_start(self, step_id: str) -> bool:
        """Tell whether a step is left, and all is done that has to come before it."""
        by_id = {step.id: step.state for step in self.steps}
        before = [by_id[name] for name in self._after[step_id]]
        return by_id[step_id] == "todo" and {*before} <= {"done"}

    def without_root(self) -> list[Step]:
        """Return the steps that are left and can be done while no command runs as root."""
        done = {step.id for step in self.steps if step.state == "done"}
        able: list[Step] = []
        for step in self.steps:
            is_left = step.state == "todo" and as_root.NEED not in step.needs
            if is_left and {*self._after[step.id]} <= done:
                able.append(step)
                done.add(step.id)
        return able

    def _forbidden(self, step: Step) -> str:
        """Return why a step may not run as what it needs to run as."""
        if self._refused and as_root.NEED in step.needs:
            return self._refused
        return as_root.reason_against(step.command, step.needs, self._root)

    def _refusal(self, step: Step, log: Lines) -> tuple[State, str] | None:
        """Return what to say of a command that sudo did not run; None where it did."""
        options = f"{self.profile.name}{' --undo' * self._is_undo} --yes --root"
        refused = as_root.why_refused(step.command, [*log.last], options)
        self._refused = self._refused or refused
        return ("blocked", refused) if refused else None

    def undoing(self) -> list[Step]:
        """Return the steps that undo puts back, each with the command for that, the last first.

        Raises:
            Problem: set-up changed nothing.
        """
        changed = self._to_put_back()
        if not changed:
            raise Problem(
                f"`tpustarter setup {self.profile.name}` has changed nothing on this machine",
                code=ExitCode.INCONCLUSIVE,
            )
        return [replace(step, command=self._undo_words(step))
                for step in reversed(self.steps) if step.id in changed]  # fmt: skip

    def removed_by_undo(self) -> list[str]:
        """Return in words what undo puts back; raises Problem where set-up changed nothing."""
        return [f"{step.title}:{self._way_back(step)}" for step in self.undoing()]

    def _way_back(self, step: Step) -> str:
        if step.file:
            lines = "the lines between its marks in " * step.writes[0].startswith("# >>> ")
            return f" {lines}{self.short(Path(step.file))}"
        return f"\n  $ {self.pasted(step.command)}"

    def undo(self) -> Iterator[Event]:
        """Put back what set-up changed, the last first; raises Problem as `undoing`."""
        if any(self._forbidden(step) for step in self.undoing()):
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
            self._changes.store(PROVED, {})
            try:
                needed: dict[str, str] = {}  # by what could not be put back
                for index, step in reversed(list(enumerate(self.steps))):
                    if step.id not in self._to_put_back() or self._stopped:
                        continue
                    began = time.monotonic()
                    undoing = replace(step, command=self._undo_words(step))
                    failure = yield from self._put_back_one(undoing, log, lock, needed)
                    end, note = failure or ("undone", "")
                    if failure:
                        needed |= dict.fromkeys(self._after[step.id], step.id)
                    else:
                        self._changes.forget(step.id)
                    ended = self._update_step(index, end, note)
                    tail = tuple(log.last) if end == "failed" else ()
                    yield StepEnded(ended, time.monotonic() - began, tail, self.log)
            finally:
                log.close()
            if not self._to_put_back():
                self._changes.forget_all()

    def _put_back_one(
        self, undoing: Step, log: Lines, lock: int, needed: Mapping[str, str]
    ) -> Generator[Event, None, tuple[State, str] | None]:
        """Put back what one step changed; returns None when that ended well."""
        if above := needed.get(undoing.id):
            return "blocked", f"`{above}` needs it, and could not be put back"
        if reason := self._forbidden(undoing):
            return "blocked", reason
        failure = yield from self._run_command(undoing, log, lock)
        return failure and (self._refusal(undoing, log) or failure)

    def _refresh(self, after: int = 0) -> None:
        """Work out the steps from number `after` on anew."""
        self.steps[after:] = self._make_steps()[after:]

    def _make_steps(self) -> list[Step]:
        try:
            declared = cast("list[dict[str, Any]]", self.lesson.header["setups"][self.profile.name])
            declared = wanted(declared, self._only, self.profile.name)
            self._read_values(declared)
            made: list[Step] = []
            self._kinds: dict[str, looks.Kind | None] = {}
            self._after: dict[str, list[str]] = {}
            self._undo_commands: dict[str, list[str]] = {}
            for fields in declared:
                made.append(self._make_step(fields, made))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Problem(
                f"the steps in the header of `{self.lesson.path}` are broken: {error!r}"
            ) from error
        return made

    def _read_values(self, declared: Sequence[Mapping[str, Any]]) -> None:
        """Find out what the steps are to be filled with; raises Problem for what does not fit."""
        name = self.profile.name
        before = self._changes.stored(VALUES)
        self._values = values.declared(self.lesson.header, declared)
        self._chosen = values.chosen(self._values, self._told, before, name)
        differing = [key for key, text in self._told.items() if before.get(key, text) != text]
        if differing and self._changes.befores():
            raise Problem(
                f"`tpustarter setup {name}` was run with {differing[0]} `{before[differing[0]]}`",
                hint=f"`tpustarter setup {name} --undo` shows how to put that back; then set "
                "another",
                code=ExitCode.INCONCLUSIVE,
            )
        told = {one.name: self._chosen[one.name] or one.placeholder for one in self._values}
        home = str(home_of(self._machine))
        self._texts = {
            "home": home, **as_root.person(), "python": sys.executable,
            "programs": str(servers.PROGRAMS), **told,
        }  # fmt: skip

    def _make_step(self, fields: Mapping[str, Any], above: Sequence[Step]) -> Step:
        if unknown := set(fields) - _FIELDS:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        filled = {name: values.filled(fields[name], self._texts) for name in fields}
        step_id, needs = str(filled["id"]), tuple(str(need) for need in filled.get("needs", []))
        self._after[step_id] = [str(name) for name in filled.get("after", [])]
        self._undo_commands[step_id] = [str(word) for word in filled.get("undo", [])]
        kind = self._kinds[step_id] = self._kind(filled)
        words = [str(word) for word in filled.get("command", [])]
        words = words or [*(kind.command() if kind else ())]
        if not words and "where" not in filled:
            raise ValueError(f"`{step_id}` has no command")
        file, lines = kind.writes() if kind else ("", ())
        step = Step(
            id=step_id, title=filled["title"], why=filled["why"],
            command=self._runnable(words, needs), changes=filled.get("changes", "nothing"),
            needs=needs, proof=filled.get("proof"), writes=lines,
            file=file,
        )  # fmt: skip
        if where := filled.get("where"):
            return replace(step, state="manual", note=f"you do this {where}", command=tuple(words))
        seen = kind.look() if kind else self._look_for_proof(step, above)
        end, note = seen.state, seen.note
        by_id = {one.id: one.state for one in above}
        waits = [name for name in self._after[step_id] if by_id[name] != "done"]
        never = [name for name in self._after[step_id] if by_id[name] == "blocked"]
        if end != "done" and "systemd" in needs and not self._has_systemd():
            end, note = "blocked", "it needs systemd, which does not run here"
        elif end == "blocked" and waits and not never:  # what stands in its way may come with that
            end, note = "todo", ""
        elif end == "todo" and never:
            end, note = "blocked", f"`{never[0]}` comes first, and cannot be done here"
        elif end == "todo" and step.command[:1] == ("sudo",):  # it was not found
            end, note = "blocked", "you are not root here, and there is no `sudo`"
        return replace(step, state=end, note=note)

    def _kind(self, filled: Mapping[str, Any]) -> looks.Kind | None:
        """Return what the step looks at; null for a proof, and for what is done elsewhere."""
        if "where" in filled or filled["look"] == "proof":
            return None
        home = str(home_of(self._machine))
        return looks.kind_of(
            filled["look"], f"{self.profile.name} {filled['id']}", self._machine, home
        )

    def _look_for_proof(self, step: Step, above: Sequence[Step]) -> Look:
        """Tell whether its command ended well, as long as everything is still as it was then."""
        proved: dict[str, Any] = self._changes.stored(PROVED).get(step.id) or {}
        if proved.get("of") == circumstances(step, above):
            return Look("done", str(proved.get("said", "")))
        return Look("todo")

    def _has_systemd(self) -> bool:
        return self._machine.status("/run/systemd/system") is not None

    def _runnable(self, words: Sequence[str], needs: Sequence[str]) -> tuple[str, ...]:
        """Return a command with its program's place; as root what needs that, with `sudo`."""
        first, *others = [*as_root.prefix(needs), *words] if words else [""]
        path = self._machine.env.get("PATH", os.defpath)
        return (shutil.which(first, path=path) or first, *others) if first else ()

    def _undo_words(self, step: Step) -> tuple[str, ...]:
        return self._runnable(self._way_back_of(step.id), step.needs)

    def _way_back_of(self, step_id: str) -> list[str]:
        """Return the command that puts back what was before; empty where nothing came."""
        before = self._changes.befores()[step_id]
        kind = self._kinds[step_id]
        own = [*(kind.undo(before) if kind else ())]
        words: list[str] = []
        for word in self._undo_commands[step_id] or ["{undo}"]:
            words += own if word == "{undo}" else [word.replace("{before}", str(before))]
        return words

    def _carry_out(
        self, step: Step, log: Lines, lock: int
    ) -> Generator[Event, None, tuple[State, str]]:
        kind = self._kinds[step.id]
        if kind:  # Told beforehand: what a run did that was killed can be undone as well.
            self._changes.remember(step.id, kind.look().before)
        if failure := (yield from self._run_command(step, log, lock)):
            return self._refusal(step, log) or failure
        if kind is None:
            above = self.steps[: [one.id for one in self.steps].index(step.id)]
            proved = {"of": circumstances(step, above), "said": "\n".join([*log.last][-4:])}
            self._changes.store(PROVED, {**self._changes.stored(PROVED), step.id: proved})
            return "done", "its command ended well"
        seen = kind.look()
        if seen.state != "done":
            return "failed", f"the command succeeded, and yet: {seen.note or 'nothing has changed'}"
        self._changes.remember(step.id, kind.settled(self._changes.befores()[step.id]), anew=True)
        return "done", seen.note

    def _to_put_back(self) -> list[str]:
        """Return the steps with which set-up changed something that is still so."""
        changed = self._changes.befores()
        ids: list[str] = []
        for step_id, kind in self._kinds.items():
            if kind is None or step_id not in changed:
                continue
            seen = kind.look()
            is_as_before = seen.state != "done" and seen.before == changed[step_id]
            if not is_as_before and self._way_back_of(step_id):
                ids.append(step_id)
        return ids
