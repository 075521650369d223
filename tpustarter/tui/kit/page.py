"""The base class of every screen, with heading, key line, help and error handling."""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click, Key, Paste
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem, find_problem
from tpustarter.tui.app import settings
from tpustarter.tui.app.messages import PageLaidOut
from tpustarter.tui.app.session import AppSession, find_session, find_worker_error
from tpustarter.tui.kit.heading import Heading
from tpustarter.tui.kit.key_line import KeyBar, list_active_keys
from tpustarter.tui.kit.row_list import RowList, SidePanel, get_app
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import FRAMED, style_lines, style_sentence
from tpustarter.tui.terminal.app_internals import AnyScreen
from tpustarter.tui.terminal.compositor import WholeScreen
from tpustarter.tui.terminal.removed_nodes import QuietWhenRemoved

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
"""The keys that end a process, on every screen; the second one also works while the user types."""
CTRL_C = Binding(
    "ctrl+c",
    "stop",
    "stop",
    key_display="Ctrl+C",
    tooltip="ends what runs; x and Esc do so, too",
    priority=True,
)
"""The key that stops a run, for screens where the user types while something runs."""
EXPLAIN = Binding("f", "explain", "explain an error", show=False, tooltip="tpustarter explain FILE")
"""The key that opens the screen for explaining an error, as on the home screen.

It is for screens where the same key does not explain a failure of their own.
"""


AIRY = 34
"""Minimum screen height, in lines, for margins and padding."""
Answer = TypeVar("Answer")


class Page(QuietWhenRemoved, WholeScreen):
    """A full screen; closing it calls `stop_work`."""

    HELP: ClassVar[str | None] = ""
    """The screen's help, as Markdown."""
    AUTO_FOCUS = ""
    CALLED: ClassVar[str] = ""
    """The screen's name in a link back to it, such as `the list of lessons`."""
    STILL_RUNS: ClassVar[str] = ""
    """The message shown at the first Esc while something runs; a second Esc stops it.

    Without a message, the first Esc stops it.
    """
    LOST_WITH_PROCESS: ClassVar[str] = ""
    """A description of the work that would be lost if the process were ended.

    If it is not empty, the key that ends the process asks for confirmation, because the key may
    have been a stray letter.
    """
    is_ready = True
    """True once the screen is laid out; until `take_keys` is called, keys wait."""
    ready_at = 0.0
    """The time at which the screen became ready, on the clock of the key events."""
    runner: ScreenRunner[Any] | None = None  # a subclass knows its events
    """The runner of the work that this screen shows, and that its keys stop."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", key_display="Esc", tooltip="the screen before this one"),
        Binding("x", "stop", "stop", tooltip="ends what runs at once, as Ctrl+C does"),
        Binding("escape", "ask_to_stop", show=False),
        Binding("escape", "stop", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._heading = title

    @property
    def tutor(self) -> AppSession:
        """The app session, with its content and settings."""
        return find_session(self)

    def body(self) -> Iterable[Widget]:
        """Return the widgets between the heading and the key line."""
        return ()

    def compose(self) -> Iterable[Widget]:
        self.add_size_classes(get_app(self))
        yield self.first_line()
        yield from self.body()
        yield KeyBar(markup=False)

    def first_line(self) -> Heading:
        """Return the heading, with the screen's title and the machine at the right."""
        return Heading(self._heading)

    def rename(self, title: str) -> None:
        """Change the screen's title."""
        self.query_one(Heading).rename(title)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= FRAMED and self.size.height >= AIRY, "-airy")

    @on(RowList.OptionHighlighted)
    def show_position(self, event: RowList.OptionHighlighted) -> None:
        rows = event.option_list  # its rows may have changed since the event
        can_be_highlighted = [option.id is not None for option in rows.options]
        above = sum(can_be_highlighted[: rows.highlighted or 0])
        self.show_status(f"{above + 1} of {sum(can_be_highlighted)}" if rows.max_scroll_y else "")

    def show_status(self, text: str) -> None:
        """Set the text at the right end of the key line."""
        self.query_one(KeyBar).show_status(text)

    def set_area_title(self, area: str, result: str) -> None:
        """Show an area's result as its border title."""
        # A full border puts spaces around its title, a single rule does not.
        title = style_sentence(result)
        is_framed = self.size.width >= FRAMED or self.has_class("-empty")
        parted = title if is_framed or not result else Content(" ") + title + " "
        self.query_one(f"#{area}").border_title = parted

    def stop_work(self) -> bool:
        """Stop the screen's run without waiting; return whether anything was running."""
        if self.runner is None or not self.can_stop:
            return False
        self.runner.stop()
        return True

    @property
    def can_stop(self) -> bool:
        """True if something is running that the user has not stopped."""
        return self.runner is not None and self.runner.can_stop

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `stop` while something runs, and `back` while nothing does."""
        if action == "ask_to_stop":
            return self.can_stop and bool(self.STILL_RUNS)
        if action in ("stop", "back"):
            return self.can_stop == (action == "stop")
        return super().check_action(action, parameters)

    def action_explain(self) -> None:
        self.tutor.go.open_explain()

    def action_stop(self) -> None:
        if self.stop_work() and self.runner:
            self.runner.tick()
        self.refresh_bindings()

    def action_ask_to_stop(self) -> None:
        """Stop only at the second Esc, so that users who just want to leave lose nothing."""
        if self.tutor.confirm_or_ask(self.STILL_RUNS):
            self.action_stop()

    def action_back(self) -> None:
        if not self.stop_work():
            self.dismiss()

    def on_unmount(self) -> None:
        self.stop_work()

    def on_paste(self, event: Paste) -> None:
        """Explain pasted text of more than one word, unless a text field has the focus."""
        is_typed = self.focused is not None and self.focused.check_consume_key("y", "y")
        if len(event.text.split()) > 1 and not is_typed:
            from tpustarter.tui.explain.failed_run import read_failure

            event.stop()
            self.tutor.go.open_explanation(read_failure(event.text))

    @work(thread=True, exit_on_error=False, group="remember")
    def remember(self) -> None:
        """Save the user's settings in a worker."""
        settings.save_settings(self.tutor.choices)

    def take_keys(self) -> None:
        """Mark the screen as ready, so that waiting and later keys are handled."""
        if not self.is_ready:
            self.is_ready, self.ready_at = True, monotonic()
            self.refresh_bindings()
            self.post_message(PageLaidOut())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show a worker's error, and stop holding back keys for that worker."""
        if not self.can_stop:
            self.tutor.remove_toasts(self.STILL_RUNS)
        if error := find_worker_error(event):
            self.show_error(error)
            self.take_keys()

    def on_screen_resume(self) -> None:
        self.show_moved_files()

    def show_moved_files(self) -> None:
        """Notify the user once about each of their files that was moved aside."""
        for sentence in locations.pop_move_notices():
            from tpustarter.core.redact import Redactor  # takes 8 ms, and is rarely needed

            redact = Redactor(os.environ)
            self.notify(
                clean_text(f"{redact.redact_text(sentence)}."),
                severity="warning",
                markup=False,
                timeout=30,
            )  # a warning, because those stay when the next key is pressed

    def show_error(self, error: BaseException) -> None:
        """Show a Problem with its hint, and any other error as a bug in tpustarter."""
        problem = find_problem(error) or error
        if isinstance(problem, Problem):
            if problem.code != ExitCode.LIMIT or not isinstance(self.tutor.screen, NoticeSheet):
                self.tutor.push_screen(NoticeSheet("This did not work", str(problem)))
            return
        from tpustarter.core import crash_report

        what, where = crash_report.write_crash_report(error)
        self.tutor.first_error = self.tutor.first_error or crash_report.ReportedCrash(what, where)
        self.notify(
            clean_text(f"tpustarter itself broke: {what}\n{where}"),
            severity="error",
            markup=False,
            timeout=30,
        )


class PanelPage(Page):
    """A page with a `SidePanel`, which Space scrolls."""

    def action_read_on(self) -> None:
        self.query_one(SidePanel).read_on()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `read_on` if the panel's text does not fit."""
        if action == "read_on":
            return self.query_one(SidePanel).max_scroll_y > 0
        return super().check_action(action, parameters)


class Dialog(QuietWhenRemoved, ModalScreen[Answer], Generic[Answer]):
    """A dialog in a titled frame in front of a screen, which stays visible around it."""

    def __init__(self, title: str, content: Widget) -> None:
        super().__init__()
        self._title, self._content = title, content

    def compose(self) -> Iterable[Widget]:
        frame = VerticalScroll(self._content, id="sheet")
        frame.border_title = Content(self._title)
        yield frame
        yield KeyBar(markup=False)

    def action_scroll(self, pages: int) -> None:
        self.query_one("#sheet").scroll_relative(y=pages * 5, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `scroll` if the content does not fit."""
        if action == "scroll":
            return self.query_one("#sheet").max_scroll_y > 0
        return super().check_action(action, parameters)


class Sheet(Dialog[None]):
    """A dialog that shows one widget; Esc, Enter or q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", key_display="Esc", tooltip="put it away"),
        Binding("space", "page_down", "read on", key_display="Space", tooltip="the next lines"),
        Binding("t", "release", "end process", tooltip="a lesson's, or that of checks"),
        Binding("t,ctrl+t", "app.release", show=False),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `page_down` if the text does not fit, and `release` for a TPU or GPU."""
        if action == "page_down":
            return self.query_one("#sheet").max_scroll_y > 0
        if action == "release":
            return find_session(self).live.owns_accelerator
        return super().check_action(action, parameters)

    def on_click(self, event: Click) -> None:
        if event.widget is self:
            self.dismiss()

    async def action_release(self) -> None:
        """End the process that holds the TPU or GPU; the key is not shown for any other process."""
        await self.run_action("app.release")

    def action_page_down(self) -> None:
        self.query_one("#sheet").scroll_page_down(animate=False)


class NoticeSheet(Sheet):
    """A dialog with plain text, such as a Problem."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title, Static(style_lines(text)))


class HelpSheet(Sheet):
    """A screen's help: its purpose, its active keys, and the rest of its help text."""

    def __init__(self, screen: AnyScreen, text: str) -> None:
        from tpustarter.tui.kit.markdown_text import LessonText
        from tpustarter.tui.lesson.page.lesson_commands import describe_shell

        keys = [
            f"| `{get_app(screen).get_key_display(active.binding)}` | {active.binding.description} "
            f"| {active.binding.tooltip} |"
            for active in list_active_keys(screen, rare=True)
        ]
        table = "\n".join(["| key | does | as a command, or a note |", "|---|---|---|", *keys])
        opening, _, rest = text.strip().partition("\n\n")
        # Only on the first screen, where users look for it; elsewhere it would be repetitive.
        how = describe_shell() if len(get_app(screen).screen_stack) == 1 else ""
        said = "\n\n".join(filter(None, (opening, how, table, rest)))
        super().__init__("Help", LessonText(f"{said}\n", is_read=True))


class ConfirmDialog(Dialog[bool]):
    """A dialog whose result is the answer to a question."""

    def action_answer(self, yes: bool | None) -> None:  # noqa: FBT001  an action's argument
        self.dismiss(yes)


class ConfirmWindow(ConfirmDialog):
    """A dialog that asks before something is changed. Its result is True or False."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", tooltip="do it"),
        Binding("n,escape", "answer(False)", "no", tooltip="change nothing"),
        Binding("t,ctrl+t", "app.release", show=False),  # works everywhere; it is not an answer
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title, Static(style_lines(text)))


class ConfirmEndProcess(ConfirmWindow, inherit_bindings=False):
    """A question whether to end a process, because its key may have been meant for an editor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", tooltip="end it"),
        Binding("n,escape", "answer(False)", "no", tooltip="change nothing"),
    ]


class ConfirmQuit(ConfirmWindow):
    """A question whether to quit, because Ctrl+C is also the key that stops a run."""

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


class ConfirmQuitWhileTyping(ConfirmQuit, inherit_bindings=False):
    """A question whether to quit while the user is typing, which letters do not answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "answer(True)", "quit", key_display="Ctrl+C", tooltip="for good"),
        Binding("escape", "answer(False)", "type on", key_display="Esc", tooltip="any letter, too"),
        Binding("ctrl+t", "app.release", show=False),
    ]
    ANSWER = "To quit, press Ctrl+C again. To go on, just type on."

    def on_key(self, event: Key) -> None:
        """Return to the text field and send it the key."""
        event.stop()
        self.action_answer(yes=False)
        find_session(self).repeat_key(event)
