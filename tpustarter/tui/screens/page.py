"""What every screen shares: heading, key line, help, and one place where errors are shown."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import Any, ClassVar, cast

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click, Key, Paste
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from tpustarter.problem import ExitCode, Problem, of_limit
from tpustarter.tui import settings
from tpustarter.tui.compositor import WholeCompositor
from tpustarter.tui.heading import Heading
from tpustarter.tui.key_line import Keys, valid_keys
from tpustarter.tui.lines import FRAMED, prose, sentences
from tpustarter.tui.messages import PageReady
from tpustarter.tui.plain import plain
from tpustarter.tui.tutor import Tutor
from tpustarter.tui.widgets import Rows, get_app

RELEASE: list[BindingType] = [
    Binding("t", "app.release", "end process", tooltip="a lesson's, or that of checks"),
    Binding(
        "ctrl+t",
        "app.release",
        "end process",
        key_display="Ctrl+T",
        tooltip="as t does, while you type",
    ),
]
"""On every screen; the second key is for where letters are typed."""
CTRL_C = Binding(
    "ctrl+c",
    "stop",
    "stop",
    key_display="Ctrl+C",
    tooltip="ends what runs; x and Esc do so, too",
    priority=True,
)
"""On screens where one types while something runs."""
EXPLAIN = Binding("f", "explain", "explain an error", show=False, tooltip="tpustarter explain FILE")
"""On screens where nothing fails that the same key would explain: it asks for an error, as Home."""


AIRY = 34
"""Lines from which such areas have air around and in them."""


class Page(Screen[None]):
    """A full screen. What it runs ends when it is closed, see `stop_work`."""

    HELP: ClassVar[str | None] = ""
    """Markdown: what one can do here."""
    AUTO_FOCUS = ""
    CALLED: ClassVar[str] = ""
    """What leads back to it, in words: `the list of lessons`."""
    STILL_RUNS: ClassVar[str] = ""
    """What the first Esc says while something runs: a second one stops it. Without it one does."""
    LOST_WITH_PROCESS: ClassVar[str] = ""
    """What is lost here with the process; the key that ends it, which may be a stray letter, asks
    where there is something."""
    is_ready = True
    """Whether keys act on what is seen; they wait until it is laid out, see `take_keys`."""
    ready_at = 0.0
    """Since when they do, by the clock that keys are stamped with."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", key_display="Esc", tooltip="the screen before this one"),
        Binding("x", "stop", "stop", tooltip="ends what runs at once, as Ctrl+C does"),
        Binding("escape", "ask_to_stop", show=False),
        Binding("escape", "stop", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._compositor = WholeCompositor()
        self._heading = title

    @property
    def tutor(self) -> Tutor:
        """The app, with what it knows of content and choices."""
        return cast("Tutor", get_app(self))

    def body(self) -> Iterable[Widget]:
        """Return what stands between heading and key line."""
        return ()

    def compose(self) -> Iterable[Widget]:
        """Yield heading, body and key line."""
        yield self.first_line()
        yield from self.body()
        yield Keys(markup=False)

    def first_line(self) -> Heading:
        """Return the heading."""
        return Heading(self._heading)

    def rename(self, title: str) -> None:
        """Change the heading."""
        self.query_one(Heading).rename(title)

    def on_resize(self) -> None:
        """Leave air around and in the areas, where there is enough room for that."""
        self.set_class(self.size.width >= FRAMED and self.size.height >= AIRY, "-airy")

    @on(Rows.OptionHighlighted)
    def show_place(self, event: Rows.OptionHighlighted) -> None:
        """Say how far down the marked row is, in a list that does not fit."""
        rows = event.option_list  # which may hold other rows by now
        can_be_marked = [option.id is not None for option in rows.options]
        above = sum(can_be_marked[: rows.highlighted or 0])
        self.show_status(f"{above + 1} of {sum(can_be_marked)}" if rows.max_scroll_y else "")

    def show_status(self, text: str) -> None:
        """Say something at the right of the key line."""
        self.query_one(Keys).show_status(text)

    def entitle(self, area: str, result: str) -> None:
        """Put what an area has come to into its frame."""
        # A whole frame parts its title from its corners, a rule does not.
        title = prose(result)
        is_framed = self.size.width >= FRAMED or self.has_class("-empty")
        parted = title if is_framed or not result else Content(" ") + title + " "
        self.query_one(f"#{area}").border_title = parted

    def stop_work(self) -> bool:
        """End what runs; returns whether anything did. Comes back at once."""
        return False

    @property
    def can_stop(self) -> bool:
        """Whether something runs that was not stopped yet."""
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to stop what runs, and the way back when nothing does."""
        if action == "ask_to_stop":
            return self.can_stop and bool(self.STILL_RUNS)
        if action in ("stop", "back"):
            return self.can_stop == (action == "stop")
        return super().check_action(action, parameters)

    def action_explain(self) -> None:
        """Ask for an error, or the path of a log."""
        self.tutor.go.to_explain()

    def action_stop(self) -> None:
        """Stop what runs."""
        self.stop_work()
        self.refresh_bindings()

    def action_ask_to_stop(self) -> None:
        """Stop what runs if that was asked for twice: who only wants to leave loses nothing."""
        if self.tutor.confirms(self.STILL_RUNS):
            self.action_stop()

    def action_back(self) -> None:
        """Stop what runs; with nothing running, go back."""
        if not self.stop_work():
            self.dismiss()

    def on_unmount(self) -> None:
        """Leave nothing running behind."""
        self.stop_work()

    def on_paste(self, event: Paste) -> None:
        """Explain what was pasted where nothing is typed, if it has more than one word."""
        is_typed = self.focused is not None and self.focused.check_consume_key("y", "y")
        if len(event.text.split()) > 1 and not is_typed:
            from tpustarter.tui.failed import of_text

            event.stop()
            self.tutor.go.to_explanation(of_text(event.text))

    @work(thread=True, exit_on_error=False, group="remember")
    def remember(self) -> None:
        """Keep what the learner chose, for the next start."""
        settings.save(self.tutor.choices)

    def take_keys(self) -> None:
        """Act on the keys that waited, and on all that come."""
        if not self.is_ready:
            self.is_ready, self.ready_at = True, monotonic()
            self.refresh_bindings()
            self.post_message(PageReady())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show what a worker could not do; keys wait no longer for it."""
        if not self.can_stop:
            self.tutor.withdraw(self.STILL_RUNS)
        if event.state == WorkerState.ERROR:
            worker = cast("Any", event).worker
            self.show_error(worker.error)
            self.take_keys()

    def show_error(self, error: BaseException) -> None:
        """Show a Problem as the command line would, and anything else as a bug of ours."""
        problem = of_limit(error) or error
        if isinstance(problem, Problem):
            if problem.code != ExitCode.LIMIT or not isinstance(self.tutor.screen, Notice):
                self.tutor.push_screen(Notice("This did not work", str(problem)))
            return
        from tpustarter import bug

        what, where = bug.write(error)
        self.tutor.broke = self.tutor.broke or bug.Reported(what, where)
        self.notify(
            plain(f"tpustarter itself broke: {what}\n{where}"),
            severity="error",
            markup=False,
            timeout=30,
        )


class Window(VerticalScroll):
    """A frame with a title, in front of a screen that stays in sight around it."""

    def __init__(self, title: str, content: Widget) -> None:
        super().__init__(content, id="sheet")
        self.border_title = Content(title)


class Sheet(ModalScreen[None]):
    """Something to read on top of a screen; any of the usual keys puts it away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", key_display="Esc", tooltip="put it away"),
        Binding("space", "page_down", "read on", key_display="Space", tooltip="the next lines"),
        Binding("t", "release", "end process", tooltip="a lesson's, or that of checks"),
        Binding("t,ctrl+t", "app.release", show=False),
    ]

    def __init__(self, title: str, content: Widget) -> None:
        super().__init__()
        self._title = title
        self._content = content

    def compose(self) -> Iterable[Widget]:
        """Yield window and key line."""
        yield Window(self._title, self._content)
        yield Keys(markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to read on where there is more than fits, and to let go of a TPU or GPU."""
        if action == "page_down":
            return self.query_one("#sheet").max_scroll_y > 0
        if action == "release":
            return cast("Tutor", get_app(self)).live.owns_accelerator
        return super().check_action(action, parameters)

    def on_click(self, event: Click) -> None:
        """Put it away with a click beside it."""
        if event.widget is self:
            self.dismiss()

    async def action_release(self) -> None:
        """End what holds the TPU or GPU; what ends another process is not worth a place here."""
        await self.run_action("app.release")

    def action_page_down(self) -> None:
        """Read on."""
        self.query_one("#sheet").scroll_page_down(animate=False)


class Notice(Sheet):
    """A text as it is, such as a Problem."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title, Static(sentences(text)))


class Help(Sheet):
    """What a screen is for, every key that works on it now, and then what else there is to know."""

    def __init__(self, screen: Screen[Any], text: str) -> None:
        from tpustarter.tui.commands_in_text import in_shell
        from tpustarter.tui.reading import LessonText

        keys = [
            f"| `{get_app(screen).get_key_display(active.binding)}` | {active.binding.description} "
            f"| {active.binding.tooltip} |"
            for active in valid_keys(screen, rare=True)
        ]
        table = "\n".join(["| key | does | as a command, or a note |", "|---|---|---|", *keys])
        opening, _, rest = text.strip().partition("\n\n")
        said = "\n\n".join(filter(None, (opening, in_shell(), table, rest)))
        super().__init__("Help", LessonText(f"{said}\n", is_read=True))


class Question(ModalScreen[bool]):
    """Asks before something is changed; the answer is yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", tooltip="do it"),
        Binding("n,escape", "answer(False)", "no", tooltip="change nothing"),
        Binding("t,ctrl+t", "app.release", show=False),  # acts everywhere, and answers nothing
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> Iterable[Widget]:
        """Yield window and key line."""
        yield Window(self._title, Static(sentences(self._text)))
        yield Keys(markup=False)

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001  an action's argument
        """Return the answer."""
        self.dismiss(yes)


class EndProcess(Question, inherit_bindings=False):
    """Asks whether to end a process, for its key may have been a letter meant for an editor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", tooltip="end it"),
        Binding("n,escape", "answer(False)", "no", tooltip="change nothing"),
    ]


class Quit(Question):
    """Asks whether to quit, for Ctrl-C is also what one types to stop something."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "quit", tooltip="so does another Ctrl+C"),
        Binding("n,escape", "answer(False)", "stay", tooltip="go on where you were"),
    ]

    ANSWER = "To quit, press y or Ctrl+C again."

    def __init__(self) -> None:
        super().__init__(
            "Quit tpustarter?",
            f"Nothing is running that Ctrl+C could stop. {self.ANSWER} Your progress and all that "
            "you typed are kept.",
        )


class QuitTyping(Quit, inherit_bindings=False):
    """The same where letters are typed: none of them is an answer, it is typed as it was meant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "answer(True)", "quit", key_display="Ctrl+C", tooltip="for good"),
        Binding("escape", "answer(False)", "type on", key_display="Esc", tooltip="any letter, too"),
        Binding("ctrl+t", "app.release", show=False),
    ]
    ANSWER = "To quit, press Ctrl+C again. To go on, just type on."

    def on_key(self, event: Key) -> None:
        """Go back to where one types, and do there what the key does, be it a letter or not."""
        event.stop()
        self.action_answer(yes=False)
        cast("Tutor", get_app(self)).act_again(event)
