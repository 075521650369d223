"""The screen for pasting an error, or typing the path of a log, to have it explained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tpustarter.core.problem import Problem
from tpustarter.tui.explain.failed_run import is_log_path, read_failure
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.text_layout import style_sentence

ASKING = (
    "Paste what your program wrote, all of it if you can: the line that gives a cause away is "
    "often far above the last one. Or type the path of a log, as in `~/train.log`."
)
NOTHING_YET = "Paste an error first, or type the path of a log."


class ErrorInput(TextArea):
    """The field to paste an error into; pasted text is explained at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+r",
            "screen.explain",
            "explain",
            key_display="Ctrl+R",
            tooltip="tpustarter explain FILE",
        ),
        Binding("escape", "screen.back", "back", key_display="Esc", tooltip="to where you were"),
    ]

    def __init__(self) -> None:
        super().__init__(
            "",
            soft_wrap=True,
            tab_behavior="focus",
            theme="css",
            highlight_cursor_line=False,
            id="error",
        )
        self.cursor_blink = False
        self.border_title = "Your error"
        self._explained = ""

    def was_explained(self) -> None:
        """Mark the text as explained, so that the next paste replaces it."""
        self._explained = self.text
        self.border_subtitle = "what you paste now replaces it"

    def on_text_area_changed(self) -> None:
        """Remove the note if the explained text has changed."""
        if self.text != self._explained:
            self.border_subtitle = ""

    async def on_paste(self, event: events.Paste) -> None:
        """Explain pasted text once it is in the field, unless it is only a part of a line."""
        is_alone = self.text in ("", self._explained) and len(event.text.split()) > 1
        if is_alone or "\n" in event.text.strip():
            if self.text == self._explained:
                self.select_all()
            self.call_later(self.run_action, "screen.explain")

    async def on_key(self, event: events.Key) -> None:
        """Explain a log if Enter is pressed after its path."""
        if event.key == "enter" and is_log_path(self.text):
            event.stop()
            event.prevent_default()
            await self.run_action("screen.explain")


class ExplainInput(Page):
    """The screen for an error or the path of a log."""

    HELP = """
An error that you paste here is searched for failures that are known, and so is a log whose path you
type. You see the most likely cause, the line that shows it, and what to do.

* What you paste is explained at once. `Esc` brings you back to it, and `Ctrl+R` explains it again,
  also after you changed it. Another error that you paste replaces it.
* On the command line, `tpustarter explain train.log` does the same, and
  `tpustarter run -- python train.py` explains a program when it fails.

Nothing is sent anywhere, and nothing is run. Only where a cause can be confirmed here, checks that
read files look at this machine.
"""

    def __init__(self) -> None:
        super().__init__("Explain an error")

    def body(self) -> Iterable[Widget]:
        yield Static(style_sentence(ASKING), id="asking")
        yield ErrorInput()
        yield Static("", id="headline")

    def on_mount(self) -> None:
        self._show_note("")
        self.set_focus(self.query_one(ErrorInput))

    def action_explain(self) -> None:
        """Explain the text, or show why this is not possible."""
        text = self.query_one(ErrorInput).text
        try:
            what = read_failure(text) if text.strip() else None
        except Problem as problem:
            self._show_note(". ".join(filter(None, (f"{problem.full_text}", problem.hint))))
            return
        self._show_note("" if what else NOTHING_YET)
        if what:
            self.query_one(ErrorInput).was_explained()
            self.tutor.go.open_explanation(what)

    def _show_note(self, text: str) -> None:
        line = self.query_one("#headline", Static)
        line.update(style_sentence(text))
        line.display = bool(text)
