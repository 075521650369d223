"""Proofs of an environment: a check that passes, a program that compiles, or its server.

Each proof is run once and can be stopped from anywhere; `lines` yields its progress and sets
`outcome` at the end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tpustarter.checking import machine_check
from tpustarter.checking.machine_check import MachineCheck
from tpustarter.checking.output import results_text
from tpustarter.checking.results import headline, verdict
from tpustarter.checking.run.runner import FindingReported
from tpustarter.core.problem import ExitCode
from tpustarter.core.redact import Redactor
from tpustarter.machine import host
from tpustarter.rehearsal import run as rehearsal
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.text import rehearsal_text
from tpustarter.running import lease, probe_archive, run_folder
from tpustarter.running.supervised_command import LineLog, SupervisedCommand
from tpustarter.setup import server_commands
from tpustarter.setup.environment.environment_facts import EnvironmentFacts, format_command
from tpustarter.setup.environment.steps import SetupStep, State, format_note

RELEASE_S = 15.0
"""Longest wait for the TPU to be free again after a notebook kernel has ended."""
TPU = "v5e-1"
"""The TPU that a proof compiles for: the smallest."""


@dataclass(frozen=True)
class ProofOutcome:
    """The result of a proof."""

    state: State
    note: str
    log: str = ""
    """Text for the log only."""


class StepProof(Protocol):
    """The run that shows that a step of set-up works: a check, a compilation or a server."""

    outcome: ProofOutcome

    def stop(self) -> None:
        """End the proof; safe in any thread and signal handler."""
        ...

    def lines(self) -> Iterator[str]:
        """Run the proof and yield lines about it; `outcome` is complete afterwards."""
        ...


class CheckProof:
    """Runs a check in the environment, only on this host if it is one of many."""

    def __init__(
        self, step: SetupStep, facts: EnvironmentFacts, machine: host.Machine, checks: Path | None
    ) -> None:
        self.outcome = ProofOutcome("failed", "nothing was run")
        self._facts = facts
        self._machine = machine
        ids = (str(step.proof),)
        request = machine_check.CheckRequest(ids=ids, python=str(facts.folder), this_host=True)
        self._check = MachineCheck(request, machine=machine, checks=checks)

    def stop(self) -> None:
        """End the check; safe in any thread and signal handler."""
        self._check.stop()

    def lines(self) -> Iterator[str]:
        """Run the check, and yield lines about it."""
        for event in self._check.events():
            if isinstance(event, machine_check.PlanMade):
                # The front end wraps the lines for its own width.
                yield "\n".join(line for line, _ in results_text.opening_lines(event.run))
            elif isinstance(event, FindingReported):
                yield results_text.finding_line(event.finding)
        yield headline.format_headline(self._check.run)
        self.outcome = self._judge()

    def _judge(self) -> ProofOutcome:
        # On a TPU machine only a claim that holds on the TPU proves the environment.
        run, facts = self._check.run, self._facts
        if run.blocked:
            may_pass = run.blocked.code in (ExitCode.BUSY, ExitCode.DENIED, ExitCode.INCONCLUSIVE)
            return ProofOutcome(
                "blocked" if may_pass else "failed", format_note(run.blocked.what, run.blocked.hint)
            )
        result = run.results[0]
        if result.status not in ("pass", "warn"):
            failing = (finding for finding in result.findings if finding["verdict"] == "fail")
            hints = [str(finding["hint"]) for finding in failing if finding["hint"]]
            details = f"`tpustarter check {result.id} --python {facts.folder_text} -v` shows all"
            note = format_note(
                results_text.summarize_result(result), hints[0] if hints else details
            )
            return ProofOutcome("failed", note, result.log)
        platform = verdict.find_verified_device(run)
        if facts.on_tpu and platform != "tpu":
            requested = self._machine.env.get("JAX_PLATFORMS")
            hint = "`unset JAX_PLATFORMS`, then run this again" if requested else None
            return ProofOutcome(
                "failed",
                format_note(f"found it on {headline.describe_devices(run)}, expected a TPU", hint),
            )
        # Without a TPU, TorchTPU has no device, so it is enough that it loads with its torch.
        place = headline.describe_devices(run)
        note = f"{' with '.join(facts.installed)} {f'computes on {place}' if place else 'loads'}"
        return ProofOutcome("done", note + ("" if platform == "tpu" else "; no TPU was tested"))


class CompileProof:
    """Compiles a check with the environment; on a TPU machine, only while the chips are unused."""

    def __init__(
        self, step: SetupStep, facts: EnvironmentFacts, machine: host.Machine, checks: Path | None
    ) -> None:
        self.outcome = ProofOutcome("failed", "nothing was compiled")
        self._verbose_command = format_command((*step.command, "-v"), facts.home)
        self._facts = facts
        self._machine = machine
        request = RehearsalRequest(
            ids=(str(step.proof),),
            tpus=(TPU,),
            compiler=str(facts.folder / "bin/python"),
            fresh=True,
            beside_tpu=True,
        )
        self._rehearsal = Rehearsal(request, machine=machine, checks=checks)

    def stop(self) -> None:
        """End the rehearsal; safe in any thread and signal handler."""
        self._rehearsal.stop()

    def lines(self) -> Iterator[str]:
        """Compile the programs, and yield lines about them."""
        if self._facts.on_tpu and _is_tpu_used(self._machine):
            note = "a program uses the TPU, and the compiler was never tried beside one"
            hint = (
                "when that has ended, run this again; `tpustarter check host.holder -v` shows who"
            )
            self.outcome = ProofOutcome("blocked", format_note(note, hint))
            return
        for event in self._rehearsal.events():
            if isinstance(event, rehearsal.RehearsalStarted):
                opening = rehearsal_text.format_first_line(
                    event.compiler, event.versions, event.tpus
                )
                yield " ".join(opening.split())  # the front end wraps it
            elif isinstance(event, rehearsal.RehearsalAnswer):
                result = event.result
                yield f"{result['program']} for {result['tpu']}: {result['status']}"
        self.outcome = self._judge()

    def _judge(self) -> ProofOutcome:
        results = self._rehearsal.results
        failing = next((result for result in results if result["status"] != "compiles"), None)
        if failing:
            note = f"`{failing['program']}` does not compile for {TPU}: {failing['reason']}"
            return ProofOutcome(
                "failed",
                format_note(note, f"`{self._verbose_command}` shows all"),
                failing["detail"],
            )
        if not results:
            return self.outcome
        note = f"{' with '.join(self._facts.installed)} compiles for {TPU}; nothing was run"
        return ProofOutcome("done", note)


class ServerProof:
    """Runs the step's program, which starts the server and sends it a browser's requests."""

    def __init__(
        self, step: SetupStep, facts: EnvironmentFacts, machine: host.Machine, checks: Path | None
    ) -> None:
        del checks  # it needs none
        self.outcome = ProofOutcome("failed", "nothing was started")
        self._step = step
        self._facts = facts
        self._machine = machine
        self._command: SupervisedCommand | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the program; safe in any thread and signal handler."""
        self._stopped = True
        if self._command:
            self._command.stop()

    def lines(self) -> Iterator[str]:
        """Run the program, and yield its lines."""
        if self._facts.on_tpu and (why := _find_tpu_obstacle(self._machine)):
            self.outcome = ProofOutcome("blocked", why)
            return
        folder = run_folder.make_run_folder()
        holding = (
            lease.hold_device_lease("tpustarter setup", self._machine)
            if self._facts.on_tpu
            else None
        )
        try:
            with holding or contextlib.nullcontext():
                yield from self._run(folder)
                self.outcome = self._judge()
        finally:
            run_folder.remove_run_folder(folder)

    def _run(self, folder: Path) -> Iterator[str]:
        env = {
            **server_commands.list_variables(self._facts.folder, self._machine),
            "JUPYTER_DATA_DIR": str(folder),
            "IPYTHONDIR": str(folder),
        }
        redact = Redactor({**self._machine.env, "HOME": str(self._facts.home)})
        self._log = LineLog(folder / "server.log", redact)
        command = SupervisedCommand(
            self._step.command,
            self._log,
            archive=probe_archive.build_probe_archive(folder / "probe.pyz"),
            env=env,
        )
        self._command = command
        if self._stopped:
            command.stop()
        lines = command.lines()
        try:
            yield from lines
        finally:
            lines.close()
            self._log.close()

    def _judge(self) -> ProofOutcome:
        ended = self._command.outcome if self._command else None
        last = self._log.last[-1] if self._log.last else ""
        if not ended or ended.code != 0:
            return ProofOutcome("failed", format_note(last, ended.what if ended else None))
        deadline = time.monotonic() + RELEASE_S
        while self._facts.on_tpu and _is_tpu_used(self._machine):
            if time.monotonic() > deadline:
                return ProofOutcome("failed", "the proof has ended, and the TPU is still in use")
            time.sleep(0.2)
        return ProofOutcome("done", last + ("" if self._facts.on_tpu else "; no TPU was tested"))


PROOFS: dict[str, Callable[[SetupStep, EnvironmentFacts, host.Machine, Path | None], StepProof]] = {
    "check": CheckProof,
    "rehearse": CompileProof,
    "serve": ServerProof,
}
"""Proof class for each `command` of a profile."""


def _find_tpu_obstacle(machine: host.Machine) -> str | None:
    if _is_tpu_used(machine):
        return format_note(
            "a program uses the TPU, which one at a time can",
            "when that has ended, run this again; "
            "`tpustarter check host.holder -v` shows who it is",
        )
    shape = host.find_slice(machine)
    if shape.waits:
        return format_note(
            f"this is one of {shape.hosts} hosts, and a program on one of them "
            "would wait for the others",
            "take a TPU with one host",
        )
    return None


def _is_tpu_used(machine: host.Machine) -> bool:
    return bool(host.list_tpu_processes(machine)) or host.read_libtpu_lock(machine).state == "live"
