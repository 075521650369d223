"""The settings screen: the Python under test, virtual devices, colours and the mouse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.checking.plan import interpreters
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app import settings
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.app.settings import Settings
from tpustarter.tui.app.theme import COLOURS
from tpustarter.tui.home import machine_facts
from tpustarter.tui.home.machine_facts import MachineFacts
from tpustarter.tui.kit.form_page import TextField
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.text_layout import (
    HangingText,
    adapt_commands,
    group_heading,
    style_sentence,
)

DEVICES = (None, 1, 2, 4, 8, 16)


BESIDE = 120
"""Minimum screen width, in columns, for explaining the settings next to the list."""
PYTHON = (
    "The Python that you choose runs lessons and checks. With `automatic`, tpustarter takes the "
    "first that it finds of the active environment, `./.venv`, what set-up made for JAX, the "
    "Python that tpustarter itself runs in, and `python3`. Where another framework is asked for, "
    "the environment that set-up made for it is used. The command `tpustarter check` follows this "
    "choice too, unless you pass `--python`."
)
VIRTUAL = (
    "These are CPU devices that stand in for TPU cores. If you choose a number, they are used on a "
    "machine with a TPU too, and then nothing counts as tested on a TPU."
)
THEME = (
    "Choose `dark` or `light` if tpustarter took your terminal for the other. Without colours "
    "nothing is lost, because every colour repeats what a word says."
)
MOUSE = (
    "A click opens a row of a list, or presses a key of the last line. What you select by dragging "
    "is sent to the clipboard of your terminal; with Shift held, or with Option on macOS, the "
    "terminal itself selects. Choose `off` to leave the mouse to the terminal."
)
ABOUT = {"python": PYTHON, "devices": VIRTUAL, "theme": THEME, "mouse": MOUSE}
"""The explanations of the settings, keyed by the part of their row ids before the colon."""
TITLES = ("Python", "Virtual CPU devices", "Colours", "Mouse")
"""The titles of the explanations in `ABOUT`, in the same order."""


class SettingList(RowList):
    """The list of settings; Enter chooses the highlighted one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "choose", key_display="Enter"),
    ]


class PythonPathInput(TextField):
    """The input field for a Python's path."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "choose it", key_display="Enter", tooltip="the Python typed"),
    ]


class SettingsScreen(Page):
    """The list of settings; every choice is saved immediately."""

    HELP = f"""
Enter chooses the marked line, and a star marks what is chosen. Each choice is kept at once.

* **Python**: {PYTHON}
* **Virtual CPU devices**: {VIRTUAL}
* **Colours**: {THEME}
* **Mouse**: {MOUSE}
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "another Python", tooltip="named by its path"),
    ]

    def __init__(self) -> None:
        super().__init__("Settings")
        self._facts: MachineFacts | None = None

    def body(self) -> Iterable[Widget]:
        path = PythonPathInput(
            placeholder="the path of a Python, or of its environment", id="search"
        )
        path.border_title = "Another Python"
        path.display = False
        panels = [
            Static(adapt_commands(style_sentence(text)), classes="panel", id=f"about-{name}")
            for name, text in ABOUT.items()
        ]
        for panel, title in zip(panels, TITLES, strict=True):
            panel.border_title = title
        side = VerticalScroll(*panels, id="side")
        side.can_focus = False
        return (path, Horizontal(SettingList(id="settings"), side, id="shelf"))

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BESIDE, "-beside")

    @on(RowList.OptionHighlighted)
    def describe(self, event: RowList.OptionHighlighted) -> None:
        kind = str(event.option_id).partition(":")[0]
        marked = "theme" if kind == "plain" else kind
        for name in ABOUT:
            self.query_one(f"#about-{name}").set_class(name == marked, "-marked")

    def on_mount(self) -> None:
        self.set_focus(self.query_one(RowList))
        self._show()
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look(self) -> None:
        self.post_message(
            FactsLoaded(machine_facts.collect_machine_facts(self.tutor.machine, self.tutor.choices))
        )

    def on_facts_loaded(self, message: FactsLoaded[MachineFacts]) -> None:
        self._facts = message.facts
        self._show()

    def _show(self) -> None:
        self.query_one(RowList).show(self._rows())
        self.set_area_title("settings", "A star marks what is chosen")

    def _rows(self) -> Iterator[Row]:
        choices = self.tutor.choices
        yield Row(None, group_heading("Python that runs lessons and checks"))
        yield _choice_row("python:", "automatic", chosen=choices.python is None)
        known = self._facts.pythons.pythons if self._facts else ()
        by_path = {str(python.path): python for python in known}
        saved = [choices.python] if choices.python else list[str]()
        for path in dict.fromkeys([*saved, *by_path]):
            names = by_path[path].frameworks_text if path in by_path else ""
            shown = interpreters.format_path(Path(path), self.tutor.machine.env, Path.cwd())
            text = f"{escape_text(shown)}  {names or 'no framework'}"
            yield _choice_row(f"python:{path}", text, chosen=choices.python == path)
        yield Row(None, "")
        yield Row(None, group_heading("Virtual CPU devices, a number also beside a TPU"))
        for number in DEVICES:
            automatic = "automatic: 8 on a machine without a TPU, none on a machine with one"
            text = automatic if number is None else str(number)
            yield _choice_row(f"devices:{number or ''}", text, chosen=choices.devices == number)
        yield Row(None, "")
        yield Row(None, group_heading("Colours"))
        for name, text in COLOURS.items():
            chosen = not choices.plain and (choices.theme or "") == name
            yield _choice_row(f"theme:{name}", text, chosen=chosen)
        yield _choice_row("plain:", "none", chosen=choices.plain)
        yield Row(None, "")
        yield Row(None, group_heading("Mouse"))
        for name, text in (("on", "on"), ("off", "off: your terminal selects text with it")):
            yield _choice_row(f"mouse:{name}", text, chosen=choices.mouse == (name == "on"))

    @on(RowList.OptionSelected)
    def apply_choice(self, event: RowList.OptionSelected) -> None:
        kind, _, value = str(event.option_id).partition(":")
        choices = self.tutor.choices
        if kind == "python":
            self._choose(replace(choices, python=value or None))
        elif kind == "devices":
            self._choose(replace(choices, devices=int(value) if value else None))
        elif kind == "theme":
            self._choose(replace(choices, theme=value or None, plain=False))
        elif kind == "mouse":
            self._choose(replace(choices, mouse=value == "on"))
        else:
            self._choose(replace(choices, plain=True))

    def _choose(self, choices: Settings) -> None:
        self.tutor.choose(choices)
        self._show()
        self.tutor.refresh()
        self._remember(choices)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember(self, choices: Settings) -> None:
        settings.save_settings(choices)
        # The running process may use a different Python from the chosen one.
        self.tutor.live.release()
        self._look()

    def action_add(self) -> None:
        path = self.query_one(Input)
        path.display = True
        self.set_focus(path)

    @on(Input.Submitted)
    def apply_typed(self, event: Input.Submitted) -> None:
        try:
            chosen, _ = interpreters.choose_interpreter(
                event.value, self.tutor.machine.env, Path.cwd()
            )
        except Problem as problem:
            self.show_error(problem)
            return
        self.action_back()
        self._choose(replace(self.tutor.choices, python=str(chosen.path)))

    def action_back(self) -> None:
        """Close the input field if it is open, otherwise the screen."""
        path = self.query_one(Input)
        if path.display:
            path.display = False
            path.value = ""
            self.set_focus(self.query_one(RowList))
        else:
            self.dismiss()


def _choice_row(name: str, text: str, *, chosen: bool) -> Row:
    return Row(name, HangingText(f"  {'*' if chosen else ' '} ", text))
