"""The screen of a command on the workers of a TPU, with the output and exit code of each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tpustarter.cloud.api import workers
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.jobs import job_connection, remote_command, remote_command_text, worker_output
from tpustarter.cloud.jobs.job_connection import TypedConnection
from tpustarter.cloud.jobs.remote_command import RemoteCommand, WorkerCommand, WorkerEnded
from tpustarter.cloud.text import event_text
from tpustarter.core.problem import Problem
from tpustarter.explain import known_failures
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import TPU_RUN, EventsArrived
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word, style_sentence
from tpustarter.tui.tpus import tpu_work
from tpustarter.tui.tpus.tpu_work import StoppedError
from tpustarter.tui.tpus.worker_output import PAINT_S, WorkerBoard, WorkersScreen, WorkerStatus

CONNECTING = "Connecting, which usually takes 5 to 20 s."


@dataclass(frozen=True)
class WorkersStarted:
    """The workers are known, and their processes start."""

    command: tuple[str, ...]
    """The gcloud command of the first worker."""
    others: str
    board: WorkerBoard[WorkerEnded]
    folder: Path


@dataclass(frozen=True)
class WorkersEnded:
    """Every worker has ended, or nothing was run."""

    seconds: float = 0.0
    became: tuple[str, ...] = ()
    """Google's states of the TPUs whose workers were not reached, as sentences."""
    problem: Problem | None = None


class TpuRunScreen(WorkersScreen[WorkerEnded]):
    """The list of workers, and the output of the marked one."""

    HELP = """
The list shows the workers, each with the number of lines that it has written and how it ended.
What the marked one wrote last is below, and **Enter** gives that the whole screen, and back.

* **x** ends the connections at once, and **Esc** asks before it does so. What was started on the
  workers may still run there, and then it still holds their chips.
* All that a worker writes is in a file of its own, in the folder named below.
* The worst exit code is what `tpustarter tpu run` would end with. 255 means that a worker was not
  reached.
"""
    STILL_RUNS = "The command still runs. Press Esc again or x to end the connections."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", "stop", tooltip="Ctrl+C of `tpustarter tpu run NAME`"),
    ]

    def __init__(self, tpu: ListedTpu, project: Project, choice: str, text: str) -> None:
        super().__init__(f"{escape_text(text)} on {escape_text(tpu.name)}")
        self._tpu, self._project, self._choice, self._text = tpu, project, choice, text
        self._folder: Path | None = None
        self._over: WorkersEnded | None = None
        self.runner = self._run = ScreenRunner[WorkersStarted | WorkersEnded](
            self, TPU_RUN, self._tick, tick_s=PAINT_S
        )

    def on_mount(self) -> None:
        self._run.begin(self._play)

    def _play(self) -> Iterator[WorkersStarted | WorkersEnded]:
        try:
            yield from self._run_on_workers()
        except StoppedError:
            return
        except Problem as problem:
            yield WorkersEnded(problem=problem)

    def _run_on_workers(self) -> Iterator[WorkersStarted | WorkersEnded]:
        """Find the workers, run the command, and record the output; raises Problem."""
        client, _ = tpu_work.make_client(self.tutor, self._project.name, self._run.stopped)
        choice, typed = workers.parse_worker_choice(self._choice), TypedConnection(self._tpu.zone)
        chosen, route = job_connection.find_workers(
            client, self._project, self._tpu.name, typed, choice
        )
        commands = [
            WorkerCommand(worker.label, route.command(worker, self._text), number)
            for number, worker in enumerate(chosen)
        ]
        folder = worker_output.make_output_folder(chosen[0].node.name)
        board = WorkerBoard[WorkerEnded](one.label for one in commands)
        others = remote_command_text.describe_other_workers(chosen)
        shown = typed.make_route(self._project).command(chosen[0], self._text)
        yield WorkersStarted(shown, others, board, folder)
        began = time.monotonic()
        remote = RemoteCommand(commands, folder)
        self._run.on_stop(remote.stop)
        if self._run.is_stopped:
            return
        with contextlib.closing(remote.events()) as happening:
            for event in happening:
                if isinstance(event, WorkerEnded):
                    board.record_end(event.command.label, event)
                else:
                    board.record_lines(event.command.label, event.lines)
        yield WorkersEnded(time.monotonic() - began, _became(client, chosen, board))

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._run.take_events(message):
            if isinstance(event, WorkersEnded):
                self._over = event
                continue
            self._board, self._folder = event.board, event.folder
            same = ["The same with gcloud:", *event_text.command_lines(event.command, 76)]
            same += [event.others] if event.others else []
            self.show_text("\n".join(map(escape_text, same)), where="opening")
        if not self._run.is_busy:
            self._over = self._over or WorkersEnded()
            if self._over.problem:
                self.show_error(self._over.problem)
        self._tick()
        self.refresh_bindings()

    def _tick(self) -> None:
        self.show_text(self._headline(self.show_workers()))

    def _headline(self, parts: Sequence[WorkerStatus[WorkerEnded]]) -> str:
        over, endings = self._over, self._board.endings
        if over and over.problem:
            return "Nothing was run. Press Esc to go back to the command."
        if over and not endings:
            return "Nothing was run, because you stopped it. Press Esc to go back to the command."
        if over:
            return self._describe_end(over)
        if self._run.is_stopped:
            return "Ending the connections, at most 10 s."
        passed = phrases.format_duration(self._run.seconds)
        if not parts:
            return f"Asking Google for the workers of `{escape_text(self._tpu.name)}`, {passed}."
        if not any(part.count for part in parts) and not endings:
            return f"{CONNECTING} It has taken {passed}; x ends it."
        running = len(parts) - len(endings)
        return f"{running} of {len(parts)} workers still run it, {passed}; x ends the connections."

    def _describe_end(self, over: WorkersEnded) -> str:
        endings = self._board.endings
        told = [f"{remote_command_text.summarize_endings(endings, over.seconds)}."]
        if worst := remote_command.worst_exit_code(endings):
            told.append(f"The worst exit code is {worst}.")
        if any(ended.cut_short for ended in endings):
            told.append(remote_command_text.STILL_RUNNING)
        told += over.became
        told.append(f"Output of each worker: {self._folder}")
        return escape_text(" ".join(told))

    def make_row(self, part: WorkerStatus[WorkerEnded]) -> Row:
        lines = phrases.format_count(part.count, "line")
        ended = part.ended
        if ended is None:
            state = status_word("run", "running" if part.count else "connecting")
        else:
            state = status_word("fail" if ended.code else "done", escape_text(ended.what))
        return Row(part.label, f"{part.label:<6} " + state, lines)

    def describe_end(self, part: WorkerStatus[WorkerEnded]) -> Iterator[LaidOutLines]:
        for fix in part.ended.fixes if part.ended else ():
            yield HangingText(
                "fix  ", style_sentence(f"`{fix}`" if known_failures.is_fix_command(fix) else fix)
            )
        if part.ended and part.ended.left_out:
            yield HangingText("", f"{part.ended.left_out} bytes are not in its file")


def _became(
    client: ProjectClient, chosen: Sequence[Worker], board: WorkerBoard[WorkerEnded]
) -> tuple[str, ...]:
    """Return sentences on a TPU whose workers were not all reached, or none if all were."""
    if all(ended.was_reachable for ended in board.endings):
        return ()
    return tuple(remote_command_text.describe_unready_tpus(client, chosen))
