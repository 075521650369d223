"""The form for a job on a TPU: what is sent, what runs, and what is done at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.cloud.api import workers
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.jobs import job_files, job_text, remote_command_text
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_start import JobRequest
from tpustarter.cloud.text import event_text
from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.setup.environment.worker_environment import PROFILE_NAMES, make_worker_environment
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.kit.confirm_name import ConfirmName
from tpustarter.tui.kit.form_page import FormPage
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence
from tpustarter.tui.tpus.form_fields import ChosenField
from tpustarter.tui.tpus.job_screen import JobScreen
from tpustarter.tui.tpus.job_work import JobSubject
from tpustarter.tui.tpus.run_form_screen import WorkerCommandInput

AS_IT_IS = "as it is"
"""The choice to run the command without a set-up."""
KEEP, GIVE_BACK = "keep it", "give it back"
NOT_AGAIN = "ends the job"
AGAIN = {
    NOT_AGAIN: 0,
    "starts it anew once": 1,
    "starts it anew 3 times": 3,
    "starts it anew 10 times": 10,
}
"""The choices for a pre-emption, each with the largest number of new starts."""
LABEL = 12
ENTER = Binding(
    "enter",
    "submit",
    "send and start",
    key_display="Enter",
    tooltip="tpustarter tpu job NAME -- COMMAND",
)


class JobInput(WorkerCommandInput):
    """A text field of the form."""

    BINDINGS: ClassVar[list[BindingType]] = [ENTER]


class JobChoice(ChosenField):
    """A field of the form with fixed values."""

    BINDINGS: ClassVar[list[BindingType]] = [ENTER]


class JobFormScreen(FormPage):
    """A job to start on the workers of a TPU."""

    HELP = """
Enter sends the folder to all workers of the TPU, and starts the command there on all of them. It
goes on when you close the laptop.

* **command**: the worker's shell runs it in the folder that was sent, so quotes, pipes and `&&`
  work as usual.
* **folder**: of a git repository the tracked files go, and the untracked ones that git does not
  ignore. Files whose names say that they hold secrets stay here. What is left out is shown.
* **set-up**: the environment that is made on every worker, or found there, and that the command
  runs in.
* **results**: patterns of files that are fetched at the end, such as `out/**`.
* **the TPU**: give it back, and it is deleted once the job has ended and its results are here. That
  is done while the job is followed, or when you open it the next time.
* **pre-emption**: while the job is followed, another TPU is asked for after each one, and the job
  starts there from its first line.

`tpustarter tpu job start --help` lists what this form leaves out: files that git ignores, the size
that may be sent, and another way to connect.
"""

    def __init__(self, tpu: ListedTpu, project: Project) -> None:
        super().__init__(f"Start a job on {escape_text(tpu.name)}: nothing is sent yet")
        self._tpu, self._project = tpu, project
        self._files: JobFiles | Problem | None = None
        self._folder: str | None = None
        """The folder of `_files`."""
        self._is_submitted = False
        """True from Enter until the files are known."""

    def body(self) -> Iterable[Widget]:
        yield Static("", id="opening")
        with VerticalScroll(id="form", can_focus=False):
            yield self._row("command", JobInput("", "such as python3 train.py", id="job-command"))
            yield self._row("folder", JobInput(".", id="job-folder"))
            yield self._row("set-up", JobChoice((AS_IT_IS, *PROFILE_NAMES), id="job-profile"))
            yield self._row(
                "results", JobInput("", "such as out/**; you can fetch later, too", id="job-fetch")
            )
            yield self._row("the TPU", JobChoice((KEEP, GIVE_BACK), id="job-end"))
            yield self._row("pre-emption", JobChoice((*AGAIN,), id="job-again"))
            yield Static("", id="command")
        yield Static("", id="headline")

    def _row(self, name: str, field: Widget) -> Widget:
        label = Static(Content(name.ljust(LABEL)), classes="mark")
        return Horizontal(label, field, classes="typed field")

    def on_mount(self) -> None:
        self.query_one("#opening", Static).update(
            style_sentence(f"{event_text.format_type_and_zone(self._tpu)}, on all of its workers.")
        )
        self.set_focus(self.query_one("#job-command"))
        self._show()

    def _typed(self, name: str) -> str:
        return self.query_one(f"#job-{name}", JobInput).value.strip()

    def _chosen(self, name: str) -> str:
        return self.query_one(f"#job-{name}", JobChoice).value

    @property
    def _order(self) -> JobRequest:
        profile = self._chosen("profile")
        return JobRequest(
            self._tpu.name,
            (self._typed("command"),),
            None if profile == AS_IT_IS else profile,
            tuple(self._typed("fetch").split()),
            give_back=self._chosen("end") == GIVE_BACK,
            again=AGAIN[self._chosen("again")],
        )

    @on(Input.Changed)
    @on(ChosenField.ValueChosen)
    def _show(self) -> None:
        folder = self._typed("folder")
        if folder != self._folder:
            self._folder, self._files = folder, None
            self._look(folder)
        self.query_one("#command", Static).update(StackedText(self._lines()))
        say = "Enter sends the folder and starts the command."
        if not self._typed("command"):
            say = "Type the command that is to run."
        self.query_one("#headline", Static).update(Content(say))

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-files")
    def _look(self, folder: str) -> None:
        try:
            found = job_files.find_job_files(locations.expand_path(folder or "."))
            job_files.require_size_within_limit(found, job_files.MAX_BYTES)
        except (Problem, RuntimeError) as error:  # `~name` may have no home
            problem = error if isinstance(error, Problem) else Problem(str(error))
            self.post_message(FactsLoaded((folder, problem)))
        else:
            self.post_message(FactsLoaded((folder, found)))

    def on_facts_loaded(self, message: FactsLoaded[tuple[str, JobFiles | Problem]]) -> None:
        folder, found = message.facts
        if folder == self._folder:
            self._files = found
            self._show()
            if self._is_submitted:
                self._submit()

    def _lines(self) -> Iterator[LaidOutLines]:
        yield HangingText("", "")
        if isinstance(self._files, Problem):
            yield HangingText("! ", style_sentence(self._files.full_text))
            return
        for name, text in self._describe():
            yield HangingText(name.ljust(LABEL), style_sentence(text))
        yield HangingText("", "")
        yield HangingText("", "The same on the command line:")
        for line in event_text.command_lines(self._same(), max(self.size.width - 4, 20)):
            yield HangingText("", clean_text(line))
        chosen = workers.choose_workers(self._tpu.nodes)
        for caution in remote_command_text.list_warnings(chosen):
            yield HangingText("", style_sentence(caution))

    def _describe(self) -> Iterator[tuple[str, str]]:
        """Yield the names and the descriptions of the job's steps."""
        order, chosen = self._order, workers.choose_workers(self._tpu.nodes)
        name = "sends"
        files = self._files
        for text in job_text.describe_files(files) if isinstance(files, JobFiles) else ["..."]:
            yield name, text
            name = ""
        yield "to", job_text.describe_workers(order.tpu, chosen)
        if environment := make_worker_environment(order.profile):
            yield "sets up", job_text.describe_environment(environment)
        yield "costs", job_text.describe_cost(self._tpu.nodes)
        if order.fetch:
            yield "fetches", ", ".join(order.fetch)
        if order.give_back:
            yield "deletes", f"`{order.tpu}`, once it has ended and its results are here"
        if order.again:
            yield "again", job_text.describe_recreation(order.tpu, order.again)

    def _same(self) -> tuple[str, ...]:
        order, folder = self._order, self._typed("folder")
        return (
            *("tpustarter", "tpu", "job", order.tpu, f"--zone={self._tpu.zone}"),
            *((f"--folder={folder}",) if folder not in ("", ".") else ()),
            *((f"--setup={order.profile}",) if order.profile else ()),
            *(f"--fetch={pattern}" for pattern in order.fetch),
            *(("--give-back",) if order.give_back else ()),
            *((f"--again={order.again}",) if order.again else ()),
            *("--follow", "--", order.command[0] or "COMMAND"),
        )

    @on(Input.Submitted)
    @on(ChosenField.Submitted)
    def _submit(self) -> None:
        files = self._files
        self._is_submitted = files is None
        if not self._typed("command"):
            self.set_focus(self.query_one("#job-command"))
        elif isinstance(files, Problem):
            self.set_focus(self.query_one("#job-folder"))
            self.show_error(files)
        elif files:
            self._confirm(files)

    def _confirm(self, files: JobFiles) -> None:
        """Start the job, after the user has typed the TPU's name if it is to be deleted."""
        order = self._order
        texts: list[str] = []
        if order.give_back:
            texts.append(
                f"Once the job has ended, and its results are here, `{order.tpu}` is deleted with "
                "its disks. While something on it may still be wanted, it is kept."
            )
        if order.again:
            texts.append(
                f"After a pre-emption, `{order.tpu}` is deleted with its disks, and the next TPU "
                "is billed until you delete it."
            )
        if not texts:
            self._start(order, files)
            return
        window = ConfirmName(
            f"May {escape_text(order.tpu)} be deleted?",
            StackedText([HangingText("", style_sentence(text)) for text in texts]),
            order.tpu,
            "start the job",
        )
        self.tutor.push_screen(window, lambda yes: self._start(order, files) if yes else None)

    def _start(self, order: JobRequest, files: JobFiles) -> None:
        subject = JobSubject(
            self._tpu.name, self._tpu.zone, self._project, order=order, files=files
        )
        screen = JobScreen(subject)

        def leave(_: None) -> None:
            if screen.has_begun:
                self.dismiss()

        self.tutor.push_screen(screen, leave)

    def on_resize(self) -> None:
        self._show()
