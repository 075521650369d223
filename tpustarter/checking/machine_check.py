"""The self-check, from a bare machine to a verdict, as one stream of events.

It chooses the Python under test, makes a plan and runs the host checks in that Python. Then each
framework's checks run in a process of their own, under the lease if it may take an accelerator. The
host checks' process starts and imports its modules while the plan is made.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, TypedDict

from tpustarter.checking.plan import interpreters
from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.checking.results.results import BlockedFramework, Result, Run
from tpustarter.checking.run import known_causes
from tpustarter.checking.run.probe_events import PythonVersions
from tpustarter.checking.run.probe_session import ProbeSession, find_program_store
from tpustarter.checking.run.runner import (
    CheckEnded,
    CheckRunner,
    CheckStarted,
    CheckWaiting,
    FindingReported,
    skip_all_checks,
)
from tpustarter.core import content, locations
from tpustarter.core.content import Check
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import frameworks
from tpustarter.machine.machine import Machine
from tpustarter.running import probe_archive, run_folder
from tpustarter.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.checking.plan import framework_plan


@dataclass(frozen=True)
class PlanMade:
    """Sent when the plan is made; `run.target` then describes the Python and the devices."""

    run: Run
    plan: framework_plan.FrameworkPlan


HostState = Literal["connecting", "looking", "waiting", "arrived", "running", "missing", "ended"]


@dataclass(frozen=True)
class HostStateChanged:
    """Sent to the machine that started the run when a host of a slice changes its state."""

    host: int
    name: str
    """The host's name; empty if it has only a number."""
    state: HostState
    detail: str = ""
    """The check that is running, or the reason why the host is missing or has ended."""


Event = PlanMade | HostStateChanged | CheckStarted | CheckWaiting | FindingReported | CheckEnded


class MachineCheckOptions(TypedDict, total=False):
    """The machine and folders of a run, if they are not this process's."""

    machine: Machine | None
    checks: Path | None
    folder: Path | None


class MachineCheck:
    """A run of the self-check: `events` runs it, and `stop` ends it from any thread."""

    def __init__(
        self,
        request: CheckRequest,
        *,
        machine: Machine | None = None,
        checks: Path | None = None,
        folder: Path | None = None,
    ) -> None:
        self._request = request
        self._machine = machine or Machine()
        self._checks_folder = checks
        self._folder = folder or Path.cwd()
        self._interpreter, self._others = interpreters.choose_interpreter(
            request.python, self._machine.env, self._folder, _wanted(request)
        )
        self.checks = content.select_checks(
            content.read_checks(checks),
            request.ids,
            request.level,
            request.framework,
            {*self._interpreter.frameworks},
        )
        if not request.all_hosts:
            named = {*request.ids}
            self.checks = [
                one for one in self.checks if not needs_several_hosts(one) or one.id in named
            ]
        self._redact = Redactor(self._machine.env)
        self._runner: CheckRunner | None = None
        self._planned: int | None = None
        """Expected number of results; None until the plan is made."""
        self.logs: list[Path] = []
        """Logs kept after a failed run, with the whole output of its processes."""
        self.run = Run(
            __version__,
            datetime.now(timezone.utc).isoformat(timespec="seconds"),
            request.level,
            list(request.ids),
            require=request.require,
            fail_on_warn=request.fail_on_warn,
        )

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the run, reporting the checks that have not run as interrupted.

        Once every check has ended this does nothing, because the processes have already ended.
        """
        if self.is_over:
            return
        self.run.stopped_by = number
        if self._runner:
            self._runner.stop(number)

    @property
    def is_over(self) -> bool:
        """True if every check has ended."""
        return self._planned == len(self.run.results)

    def events(self) -> Iterator[Event]:
        """Run the checks, yielding events and filling `run` as they arrive."""
        began = time.monotonic()
        try:
            for event in self._events():
                if isinstance(event, CheckEnded):
                    result = known_causes.attribute_to_earlier_result(
                        event.result, self.run.results
                    )
                    self._add(result)
                    yield CheckEnded(result)
                else:
                    yield event
        finally:
            self.run.seconds = time.monotonic() - began

    def _events(self) -> Iterator[Event]:
        with run_folder.hold_run_folder(self._redact, self._has_failed) as folder:
            yield from self._groups(folder)
        self.logs = run_folder.list_kept_logs(folder)

    def _has_failed(self) -> bool:
        return any(result.status in ("fail", "error") for result in self.run.results)

    def _groups(self, folder: Path) -> Iterator[Event]:
        groups: dict[str, list[Check]] = {"host": []}
        for check in self.checks:
            groups.setdefault(check.framework, []).append(check)
        host_checks = groups.pop("host")
        session = self._session(folder)
        runner = self._start(session)
        try:
            if host_checks:
                runner.start_early()
            run_plan = self._plan()
            # Without host checks, a framework's process reports the Python's versions too.
            shared = (
                not host_checks
                and len(groups) == 1
                and run_plan.platform == "cpu"
                and run_plan.blocked is None
            )
            self._tell(session, run_plan, next(iter(groups)) if shared else None)
            versions = runner.read_versions()
            left_out = self._left_out(groups, versions.frameworks)
            for framework in left_out:
                del groups[framework]
            self._planned = len(host_checks) + sum(map(len, groups.values()))
            self._describe(run_plan, versions, groups, left_out)
            if run_plan.blocked and run_plan.blocked.code == ExitCode.NO_DEVICE:
                self.run.blocked = run_plan.blocked  # even if no framework's check was selected
            yield PlanMade(self.run, run_plan)
            if not shared:
                yield from runner.run(host_checks)
            for framework, group in groups.items():
                yield from self._framework(framework, group, run_plan, session)
            blocked, has_run = self.run.blocked, any(one.ran_on for one in self.run.results)
            if has_run and blocked and blocked.reason == "not-applicable":
                self.run.blocked = None  # another framework ran, so only this one was skipped
        finally:
            runner.close()
            self.run.stored_programs = session.stored_programs

    def _session(self, folder: Path) -> ProbeSession:
        return ProbeSession(
            self._interpreter.path,
            probe_archive.build_probe_archive(folder / "probe.pyz", self._checks_folder),
            folder,
            dict(self._machine.env),
            {"root": str(self._machine.root), "uid": self._machine.uid},
            self._redact,
            isolate=self._request.isolate,
            program_store=None if self._request.fresh else find_program_store(),
            results={},
        )

    def _plan(self) -> framework_plan.FrameworkPlan:
        # The process starts while this slow step runs.
        from tpustarter.checking.plan import framework_plan

        request = self._request
        return framework_plan.make_plan(
            self._machine,
            require=request.require,
            devices=request.devices,
            this_host=request.this_host,
            all_hosts=request.all_hosts,
            gpu_plugin=self._interpreter.has_gpu_plugin,
        )

    def _tell(
        self, session: ProbeSession, run_plan: framework_plan.FrameworkPlan, framework: str | None
    ) -> None:
        from tpustarter.checking.plan import framework_plan

        target = framework_plan.make_target(run_plan, self._machine)
        session.target = {**target, "minutes": self._request.minutes}
        if framework:
            session.env = framework_plan.make_probe_environment(
                run_plan, self._machine.env, session.folder, framework
            )
            session.drop = locations.find_sudo_caller()

    def _start(self, session: ProbeSession) -> CheckRunner:
        self._runner = CheckRunner(session)
        if self.run.stopped_by is not None:  # stop() came before there was a runner
            self._runner.stop(self.run.stopped_by)
        return self._runner

    def _framework(
        self,
        framework: str,
        group: list[Check],
        run_plan: framework_plan.FrameworkPlan,
        session: ProbeSession,
    ) -> Iterator[Event]:
        from tpustarter.checking.plan import framework_plan

        blocked = (
            run_plan.blocked
            or self._unusable(framework)
            or framework_plan.explain_wrong_platform(framework, run_plan)
        )
        if blocked:
            self.run.blocked = blocked
            yield from skip_all_checks(group, blocked)
            return
        session.settings = frameworks.list_behaviour_variables(framework, self._machine.env)
        if self._runner and self._runner.is_warm:
            yield from self._runner.run(group)
            return
        env = framework_plan.make_probe_environment(
            run_plan, self._machine.env, session.folder, framework
        )
        with contextlib.ExitStack() as stack:
            lease_fd = None
            if run_plan.platform != "cpu":
                from tpustarter.running import lease

                try:
                    lease_fd = stack.enter_context(
                        lease.hold_device_lease("tpustarter check", self._machine)
                    )
                except Problem as problem:
                    self.run.blocked = BlockedFramework(
                        problem.full_text, problem.code, problem.hint or ""
                    )
                    yield from skip_all_checks(group, self.run.blocked)
                    return
            session.env, session.lease, session.drop = env, lease_fd, locations.find_sudo_caller()
            yield from self._start(session).run(group)

    def _left_out(
        self, groups: Mapping[str, list[Check]], installed: Mapping[str, str]
    ) -> list[str]:
        """Return the frameworks whose checks are left out: not selected, and not installed.

        If no framework is installed, the first is kept, to show what could be checked.
        """
        if self._request.ids or self._request.framework:
            return []
        here = [
            framework
            for framework in groups
            if framework in installed
            and not frameworks.list_missing_frameworks(framework, installed)
        ]
        return [framework for framework in groups if framework not in (here or list(groups)[:1])]

    def _unusable(self, framework: str) -> BlockedFramework | None:
        from tpustarter.checking.plan import framework_plan

        installed = self.run.target.get("frameworks", {})
        others = [
            framework_plan.AlternativePython(self._display_path(one), one.frameworks)
            for one in self._others
        ]
        python = self._display_path(self._interpreter)
        asked = self._request.framework == framework or any(
            not content.is_glob(pattern) for pattern in self._request.ids
        )
        if framework in installed:
            return framework_plan.explain_unusable_framework(
                framework, python, installed, others, asked=asked
            )
        return framework_plan.explain_missing_framework(
            framework, python, installed, others, chips=self.run.host.get("chips", 0), asked=asked
        )

    def _display_path(self, interpreter: interpreters.Interpreter) -> str:
        return interpreters.format_path(interpreter.path, self._machine.env, self._folder)

    def _describe(
        self,
        run_plan: framework_plan.FrameworkPlan,
        versions: PythonVersions,
        groups: Mapping[str, list[Check]],
        left_out: list[str],
    ) -> None:
        from tpustarter.checking.plan import framework_plan

        env = {
            name: value
            for framework in groups
            for name, value in framework_plan.framework_variables(
                run_plan, framework, self._machine.env
            ).items()
        }
        where = run_plan.devices_text
        if groups and run_plan.virtual and not any(map(frameworks.can_run_on_cpu, groups)):
            where = "no device of " + ", ".join(
                frameworks.FRAMEWORKS[name].title for name in groups
            )
        self.run.target = {
            "python": self._redact.redact_text(str(self._interpreter.path)),
            "shown": self._display_path(self._interpreter),
            "why": self._interpreter.why,
            "python_version": versions.python_version,
            "frameworks": versions.frameworks,
            "platform": run_plan.platform,
            "kind": run_plan.platform,
            "where": where,
            "devices": run_plan.devices,
            "planned": run_plan.devices,
            "virtual": run_plan.virtual,
            "env": self._redact.redact_value(env or run_plan.env),
            "left_out": left_out,
            "settings": [
                name
                for framework in sorted(groups)
                for name in frameworks.list_behaviour_variables(framework, self._machine.env)
            ],
            "others": [
                f"{self._display_path(interpreter)}: {interpreter.frameworks_text}"
                for interpreter in self._others
            ],
        }
        self.run.host = framework_plan.make_host_fields(run_plan, self._machine)

    def _add(self, result: Result) -> None:
        self.run.results.append(result)
        if result.ran_on:  # found devices outrank expected ones
            self.run.target["kind"] = result.ran_on.kind
            self.run.target["devices"] = result.ran_on.count


def needs_several_hosts(check: Check) -> bool:
    """Return whether a check needs several hosts; a run on one host leaves it out."""
    return check.needs.get("hosts", 1) > 1


def _wanted(request: CheckRequest) -> str | None:
    names = [request.framework, *(check_id.split(".", 1)[0] for check_id in request.ids)]
    return next((name for name in names if name in frameworks.FRAMEWORKS), None)
