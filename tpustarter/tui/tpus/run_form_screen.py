"""The form for a command on the workers of a TPU, with its gcloud command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.cloud.api import workers
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.jobs import remote_command_text
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings
from tpustarter.cloud.text import event_text
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.form_page import FormPage, TextField
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence
from tpustarter.tui.tpus.run_screen import TpuRunScreen


class WorkerCommandInput(TextField):
    """The input line for the command, or for the workers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "submit",
            "run it",
            key_display="Enter",
            tooltip="tpustarter tpu run NAME --worker all -- COMMAND",
        ),
    ]


class RunCommandScreen(FormPage):
    """A command to type, and the workers that run it."""

    HELP = """
Type a command, and Enter runs it on the workers of the TPU. Each worker is one host. A program that
uses a slice of several hosts must run on all of them at the same time, because each host waits for
the others.

* **command**: the worker's shell runs it as you type it, so quotes, pipes and `&&` work as usual.
* **workers**: `all`, or numbers such as `0,2` or `1-3`. Up to 8 are being connected at a time, and
  all that are connected run side by side.
* gcloud connects with ssh. The first time, gcloud makes a key and may ask for a passphrase, which
  it cannot do here: if there is no key yet, you are shown the command that connects once.

What every worker writes is kept in a file of its own, and the next screen names the folder.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down", "move(1)", "next field", key_display="Tab", tooltip="the other field"),
    ]

    def __init__(self, tpu: ListedTpu, project: Project) -> None:
        super().__init__(f"Run a command on {escape_text(tpu.name)}")
        self._tpu, self._project = tpu, project
        self._total = sum(max(1, node.workers) for node in tpu.nodes)
        self._slices = len(tpu.nodes)

    def body(self) -> Iterable[Widget]:
        yield Static(style_sentence(self._opening()), id="opening")
        with VerticalScroll(id="form", can_focus=False):
            yield from self._line("command", "")
            if self._total > 1:
                yield from self._line("workers", workers.EVERY_WORKER)
            yield Static("", id="command")
        yield Static("", id="headline")

    def _line(self, name: str, value: str) -> Iterator[Widget]:
        with Horizontal(classes="typed"):
            yield Static(Content(f"{name}  "), classes="mark")
            yield WorkerCommandInput(value, id=f"run-{name}")

    def _opening(self) -> str:
        where = event_text.format_type_and_zone(self._tpu)
        if self._total == 1:
            return f"{where}, which is 1 worker."
        each = self._total // self._slices
        slices = f", in {self._slices} slices of {each}" if self._slices > 1 else ""
        some = f"numbers from 0 to {each - 1} such as `0,1`"
        return f"{where}, which is {self._total} workers{slices}. Type `all`, or {some}."

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#run-command"))
        self._show()

    @property
    def _text(self) -> str:
        return self.query_one("#run-command", WorkerCommandInput).value.strip()

    @property
    def _choice(self) -> str:
        if self._total == 1:
            return "0"
        return self.query_one("#run-workers", WorkerCommandInput).value.strip()

    def _chosen(self) -> list[Worker]:
        """Return the typed workers; raises Problem if there are none."""
        return workers.choose_workers(self._tpu.nodes, workers.parse_worker_choice(self._choice))

    @on(Input.Changed)
    def _show(self) -> None:
        self.query_one("#command", Static).update(StackedText(self._lines()))
        say = "Enter runs it at once." if self._text else "Type the command that is to run."
        self.query_one("#headline", Static).update(Content(say))

    def _lines(self) -> Iterator[LaidOutLines]:
        try:
            chosen = self._chosen()
        except Problem as problem:
            yield HangingText("! ", style_sentence(problem.full_text))
            return
        yield HangingText("", "")
        yield HangingText("", "The same with gcloud:")
        text = self._text or "COMMAND"
        command = ConnectionSettings(self._project).command(chosen[0], text)
        for line in event_text.command_lines(command, max(self.size.width - 4, 20)):
            yield HangingText("", clean_text(line))
        if others := remote_command_text.describe_other_workers(chosen):
            yield HangingText("", others)
        for caution in remote_command_text.list_warnings(chosen):
            yield HangingText("", "")
            yield HangingText("", style_sentence(caution))

    @on(Input.Submitted)
    def _submit(self) -> None:
        try:
            self._chosen()
        except Problem:
            for field in self.query("#run-workers"):  # a single worker is not typed
                self.set_focus(field)
            return
        if self._text:
            self.tutor.push_screen(TpuRunScreen(self._tpu, self._project, self._choice, self._text))

    def on_resize(self) -> None:
        self._show()
