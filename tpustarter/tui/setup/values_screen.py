"""The form for the values of a set-up's steps, such as a bucket name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.core.problem import Problem
from tpustarter.setup.machine import step_values
from tpustarter.setup.machine.step_values import StepValue
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.form_page import FormPage, TextField
from tpustarter.tui.kit.text_layout import style_lines, style_sentence


class ValueInput(TextField):
    """The input field for one value."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "submit", "go on", key_display="Enter", tooltip="the next field, or the plan"
        ),
    ]


class SetupValuesScreen(FormPage):
    """A form with an input field for each value. The caller then plans the set-up with them."""

    HELP = """
The steps of this set-up need to know something that only you can tell. Type it here, and **Enter**
leads to the next field and at last back to the plan, which then shows your values in each command.
Nothing is run from this screen.

A line that begins with `!` says why a value does not fit. An empty field takes the default, where
there is one. What you typed is kept while tpustarter runs, and once the set-up has run it is
remembered until you undo it.
"""

    def __init__(
        self,
        profile: str,
        chosen: Mapping[StepValue, str | None],
        take: Callable[[dict[str, str]], None],
    ) -> None:
        """Show an input field for each value.

        Args:
            profile: The set-up's name.
            chosen: Each value's current text, or None if it is missing.
            take: Called with the entered values once all of them are valid.
        """
        super().__init__(f"What `{profile}` has to be told".replace("`", ""))
        self._profile, self._chosen, self._take = profile, chosen, take

    def body(self) -> Iterable[Widget]:
        width = max(len(one.name) for one in self._chosen)
        with VerticalScroll(id="form", can_focus=False):
            for one, now in self._chosen.items():
                default = f" If you leave it empty: `{one.default}`." if one.default else ""
                meaning = f"{one.meaning[:1].upper()}{one.meaning[1:]}.{default}"
                yield Static(style_sentence(meaning), classes="value-meaning")
                with Horizontal(classes="typed"):
                    yield Static(Content(f"{one.name:<{width}}  "), classes="mark")
                    yield ValueInput(now or "", id=f"value-{one.name}")
                yield Static("", id=f"wrong-{one.name}", classes="value-wrong")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        missing = [one for one, now in self._chosen.items() if now is None]
        self.set_focus(self._line([*missing, *self._chosen][0]))
        self._show()

    def _line(self, one: StepValue) -> ValueInput:
        return self.query_one(f"#value-{one.name}", ValueInput)

    def _wrong(self, one: StepValue) -> str:
        """Return why the entered text is invalid, or "" if it is valid or empty."""
        text = self._line(one).value
        if not text:
            return ""
        try:
            step_values.choose_values([one], {one.name: text}, {}, self._profile)
        except Problem as problem:
            return str(problem).removeprefix("error: ")
        return ""

    def _is_missing(self, one: StepValue) -> bool:
        return not self._line(one).value and one.default is None

    @on(Input.Changed)
    def _show(self) -> None:
        for one in self._chosen:
            wrong = self._wrong(one)
            line = self.query_one(f"#wrong-{one.name}", Static)
            line.update(style_lines(f"! {wrong}") if wrong else "")
            line.display = bool(wrong)
        self.query_one("#headline", Static).update(style_sentence(self._headline()))

    def _headline(self) -> str:
        if any(self._wrong(one) for one in self._chosen):
            return "The lines marked with `!` have to be corrected first."
        if missing := [escape_text(one.name) for one in self._chosen if self._is_missing(one)]:
            return f"Still to fill in: {', '.join(missing)}. Nothing is run from here."
        return "Press Enter to see the plan with these values. Nothing is run from here."

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        """Go to the next missing or invalid field; without any, to the next field or the plan."""
        every = list(self._chosen)
        at = next(n for n, one in enumerate(every) if self._line(one) is event.input)
        open_fields = [
            one for one in (*every[at:], *every[:at]) if self._wrong(one) or self._is_missing(one)
        ]
        if open_fields:
            self.set_focus(self._line(open_fields[0]))
        elif at + 1 < len(every):
            self.set_focus(self._line(every[at + 1]))
        else:
            values = {one.name: self._line(one).value for one in every if self._line(one).value}
            self.dismiss()
            self._take(values)
