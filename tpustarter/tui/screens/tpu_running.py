"""A command on the workers of a TPU: each with its output and its end, and the worst exit code."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.timer import Timer

from tpustarter.cloud import (
    connecting,
    remote,
    remote_words,
    words,
    worker_output,
    workers,
)
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import format_age
from tpustarter.cloud.overview import Row as Tpu
from tpustarter.cloud.places import Project
from tpustarter.cloud.remote import Job, Remote
from tpustarter.cloud.workers import Worker
from tpustarter.explain import known
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_work
from tpustarter.tui.lines import Hanging, Lines, Stack, prose, word
from tpustarter.tui.messages import TPU_RUN, Looked
from tpustarter.tui.screens.split import Split
from tpustarter.tui.tpu_board import Board, Part
from tpustarter.tui.tpu_work import StoppedError
from tpustarter.tui.widgets import Row, Rows

PAINT_S = 0.2
"""Seconds between two paintings of what was written."""
CONNECTING = "Connecting, which usually takes 5 to 20 s."


@dataclass(frozen=True)
class Begun:
    """The workers are known, and their processes start."""

    command: tuple[str, ...]
    """That of the first worker."""
    others: str
    board: Board
    folder: Path


@dataclass(frozen=True)
class Over:
    """Every worker has ended, or nothing was run."""

    seconds: float = 0.0
    became: tuple[str, ...] = ()
    """What Google says of TPUs whose workers were not reached."""
    problem: Problem | None = None


class Running(Split):
    """The workers above, the output of the marked one below."""

    HELP = """
The list shows the workers, each with the number of lines that it has written and how it ended.
What the marked one wrote last stands below, and **Enter** gives that the whole screen, and back.

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

    def __init__(self, tpu: Tpu, project: Project, choice: str, text: str) -> None:
        super().__init__(f"{visible(text)} on {visible(tpu.name)}")
        self._tpu, self._project, self._choice, self._text = tpu, project, choice, text
        self._board = Board()
        self._folder: Path | None = None
        self._over: Over | None = None
        self._stopped = threading.Event()
        self._remote: Remote | None = None
        self._began = time.monotonic()
        self._timer: Timer | None = None
        self._painted: list[Part] = []

    def on_mount(self) -> None:
        """Run it: that is what Enter has asked for."""
        super().on_mount()
        self.query_one("#details").display = True
        self._timer = self.set_interval(PAINT_S, self._tick)
        self._tick()
        self._work()

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPU_RUN)
    def _work(self) -> None:
        over = Over()
        try:
            over = self._run()
        except StoppedError:
            pass
        except Problem as problem:
            over = Over(problem=problem)
        finally:
            self.post_message(Looked(over))

    def _run(self) -> Over:
        """Find the workers, run it on them, and note what they write; raises Problem."""
        path = remote.program("gcloud")
        client, _ = tpu_work.connect(self.tutor, self._project.name, self._stopped)
        nodes = workers.find(client, self._tpu.name, self._tpu.zone)
        chosen = workers.of_nodes(nodes, workers.parse_choice(self._choice))
        remote_words.refuse_without_way(chosen, "gcloud", iap=False)
        commands = [self._command(worker) for worker in chosen]
        jobs = [
            Job(worker.label, (path, *command[1:]))
            for worker, command in zip(chosen, commands, strict=True)
        ]
        folder = worker_output.make_folder(nodes[0].name)
        board = Board(job.label for job in jobs)
        others = remote_words.of_others(chosen, self._tpu.nodes)
        self.post_message(Looked(Begun(commands[0], others, board, folder)))
        began = time.monotonic()
        self._remote = Remote(jobs, folder)
        if self._stopped.is_set():
            raise StoppedError
        with contextlib.closing(self._remote.events()) as happening:
            for event in happening:
                board.take(event)
        return Over(time.monotonic() - began, _became(client, chosen, board))

    def _command(self, worker: Worker) -> tuple[str, ...]:
        return connecting.gcloud_command(worker, self._project, self._text, iap=worker.needs_iap)

    def on_looked(self, message: Looked) -> None:
        """Show the workers, or how it ended."""
        if isinstance(message.what, Begun):
            begun = message.what
            self._board, self._folder = begun.board, begun.folder
            same = ["The same with gcloud:", *words.command_lines(begun.command, 76)]
            same += [begun.others] if begun.others else []
            self.say("\n".join(map(visible, same)), where="opening")
        else:
            over: Over = message.what
            self._over = over
            if self._timer:
                self._timer.stop()
            if over.problem:
                self.show_error(over.problem)
        self._tick()
        self.refresh_bindings()

    def _tick(self) -> None:
        """Paint what has changed, and say how far it is."""
        parts = self._board.read()
        if parts != self._painted:
            before = {part.label: part for part in self._painted}
            rows = self.query_one(Rows)
            if not before:
                rows.show(map(_row_of, parts))
            for part in parts:
                if before and part != before[part.label]:
                    rows.change(_row_of(part))
            self._painted = parts
            marked = rows.chosen
            now = next((part for part in parts if part.label == marked), None)
            if now != before.get(marked or ""):
                self._show_output()
        self.entitle("rows", f"{len(parts)} worker{'s' * (len(parts) > 1)}" if parts else "")
        self.say(self._headline(parts))

    def _headline(self, parts: Sequence[Part]) -> str:
        over, endings = self._over, self._board.endings
        if over and over.problem:
            return "Nothing was run. Press Esc to go back to the command."
        if over and not endings:
            return "Nothing was run, because you stopped it. Press Esc to go back to the command."
        if over:
            return self._of_end(over)
        if self._stopped.is_set():
            return "Ending the connections, at most 10 s."
        passed = format_age(time.monotonic() - self._began)
        if not parts:
            return f"Asking Google for the workers of `{visible(self._tpu.name)}`, {passed}."
        if not any(part.count for part in parts) and not endings:
            return f"{CONNECTING} It has taken {passed}; x ends it."
        running = len(parts) - len(endings)
        return f"{running} of {len(parts)} workers still run it, {passed}; x ends the connections."

    def _of_end(self, over: Over) -> str:
        endings = self._board.endings
        told = [f"{remote_words.count(endings, over.seconds)}."]
        if worst := remote.exit_code(endings):
            told.append(f"The worst exit code is {worst}.")
        if remote_words.was_cut_short(endings):
            told.append(remote_words.STILL_RUNNING)
        told += over.became
        told.append(f"Output of each worker: {self._folder}")
        return visible(" ".join(told))

    @on(Rows.OptionHighlighted)
    def _show_output(self) -> None:
        """Show the end of what the marked worker wrote."""
        details = self.query_one("#details")
        was_at_end = details.scroll_y >= details.max_scroll_y - 1
        self.show_details(Stack(self._output()))
        label = self.query_one(Rows).chosen
        self.entitle("details", f"Output of {label}" if label else "")
        if was_at_end or not self.has_class("-details"):
            self.call_after_refresh(details.scroll_end, animate=False)

    def _output(self) -> Iterator[Lines]:
        label = self.query_one(Rows).chosen
        lines, dropped = self._board.lines(label)
        part = next((part for part in self._board.read() if part.label == label), None)
        if dropped:
            yield Hanging("", f"... {dropped} lines above, which are in its file")
        for line in lines:
            yield Hanging("", visible(line.expandtabs()))
        if part and part.ended:
            for fix in part.ended.fixes:
                yield Hanging("fix  ", prose(f"`{fix}`" if known.is_command(fix) else fix))
            if part.ended.left_out:
                yield Hanging("", f"{part.ended.left_out} bytes are not in its file")
        if part and not lines and not (part.ended and part.ended.fixes):
            yield Hanging("", f"{label} has written nothing" + ("." if part.ended else " yet."))

    def stop_work(self) -> bool:
        """End the connections."""
        if not self.can_stop:
            return False
        self._stopped.set()
        if self._remote:
            self._remote.stop()
        return True

    @property
    def can_stop(self) -> bool:
        """Whether something runs that was not stopped yet."""
        return self._over is None and not self._stopped.is_set()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the output where there is a worker."""
        if action == "details" and self.is_mounted and not self.has_class("-details"):
            return bool(self._painted)
        return super().check_action(action, parameters)


def _row_of(part: Part) -> Row:
    lines = "1 line" if part.count == 1 else f"{part.count} lines"
    ended = part.ended
    if ended is None:
        state = word("run", "running" if part.count else "connecting")
    else:
        state = word("fail" if ended.code else "done", visible(ended.what))
    return Row(part.label, f"{part.label:<6} " + state, lines)


def _became(client: Client, chosen: Sequence[Worker], board: Board) -> tuple[str, ...]:
    """Return what became of a TPU whose workers were not all reached."""
    if all(ended.reached for ended in board.endings):
        return ()
    return tuple(remote_words.what_became(client, chosen))
