"""Rehearse: choose programs and TPUs that are not there; `r` compiles the ones for the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter import content
from tpustarter.content import Check
from tpustarter.rehearsal import compiler
from tpustarter.tui import own_program
from tpustarter.tui.lines import Stack, prose, typed
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.own_program import OWN, Offered, Offers, OwnLine, TypedProgram
from tpustarter.tui.rehearsal_choice import TPU_NAMES, Choice
from tpustarter.tui.screens.page import Page
from tpustarter.tui.screens.rehearsing import NARROW, Rehearsing
from tpustarter.tui.widgets import Rows

NAME = "rehearse"
"""What the app keeps the screen under, so that its choices last as long as the app."""
WITH_CLAIMS = 140
"""Columns from which the claim of each program stands beside it."""
BESIDE = 180
"""Columns from which more is said of what is marked, beside both lists."""


@dataclass(frozen=True)
class Available:
    """What there is to rehearse with here."""

    checks: list[Check]
    has_compiler: bool
    own: dict[str, tuple[str, ...]]
    """What the files in this folder offer for each of `OWN`."""


class ChoiceRows(Rows):
    """Rows with a box each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.choose", "choose", key_display="Space", tooltip="in or out"),
        Binding("enter", "select", show=False),
    ]


class Rehearse(Page):
    """Programs, and TPUs to compile them for."""

    HELP = """
A rehearsal asks the real TPU compiler whether a program compiles for a TPU that you don't have, and
whether it fits into the memory of that TPU. **Nothing is run**, so what compiles is not tested yet.

* **Space** selects the marked line or takes it out again, and **a** selects a whole list or
  nothing. **Tab** goes to the other list.
* **Enter** or **r** starts the rehearsal of what is selected.
* **a function in a file of mine**: type `FILE.py` to choose one of its functions, or
  `FILE.py:FUNCTION` and the type of each argument, such as
  `train.py:step f32[8192,8192] bf16[8192,512]`. Where the file has a function `programs(devices)`,
  that is called. It yields tuples of a name, a function and its arguments, which may be pytrees,
  and may have shardings.
* **a script of mine** runs unchanged on CPU devices. Each function that it passes to `jax.jit` is
  compiled for the TPUs as well.

Your own file runs in the Python that you chose in the settings, or else in the first one found that
has JAX. The compiler comes from the first environment here that has `jax` and `libtpu`.
`tpustarter setup rehearse` makes such an environment.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "setup", "set up the compiler", tooltip="tpustarter setup rehearse"),
        Binding("r", "start", "start", tooltip="tpustarter rehearse --tpu NAME,NAME"),
        Binding("l", "lesson", "lesson", tooltip="tpustarter learn LESSON"),
        Binding("a", "all", "all or none", tooltip="tpustarter rehearse"),
        Binding("tab,left,right,shift+tab", "other", "other list", key_display="Tab",
                tooltip="programs or TPUs"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__("Rehearse for a TPU that is not here")
        self._choice = Choice()
        self._typing = ""
        """Which of `OWN` is being typed."""
        self._begins_with = ""
        """Where the words came from that the line begins with; empty where it has none."""
        self._offered: Offered | None = None
        """What the file that was typed offers, while one of it is to be chosen."""

    def body(self) -> Iterable[Widget]:
        """Return a line to type a file, both lists, what is marked, and what they come to."""
        line = OwnLine()
        line.border_title = "Your program"
        line.cursor_blink = False
        line.display = False
        yield line
        offers = Offers()
        offers.display = False
        yield offers
        with Container(id="choice"):
            yield ChoiceRows(id="programs")
            yield ChoiceRows(id="tpus")
            with VerticalScroll(id="marked", can_focus=False):
                yield Static("", id="about-marked")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        """Show the TPUs at once, and the programs once they are read."""
        self.set_focus(self.query_one("#programs"))
        self._show()

    def on_screen_resume(self) -> None:
        """Read the checks; others may be there by now."""
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _look(self) -> None:
        checks = content.read_checks(self.tutor.checks)
        programs = [check for check in checks if check.has_programs]
        has_compiler = compiler.is_here(self.tutor.machine)
        own = own_program.found_in(Path.cwd())
        self.post_message(Looked(Available(programs, has_compiler=has_compiler, own=own)))

    def on_looked(self, message: Looked) -> None:
        """Show the checks, or take what was typed."""
        if isinstance(message.what, Available):
            choice = self._choice
            choice.checks, choice.has_compiler = message.what.checks, message.what.has_compiler
            choice.found = message.what.own
            self._show()
        elif not self.query_one(OwnLine).display:  # Esc came first
            return
        elif isinstance(message.what, TypedProgram):
            self._choice.take(message.what)
            self.action_back()
        elif isinstance(message.what, Offered):
            self._offer(message.what)

    def _offer(self, offered: Offered | None) -> None:
        """Let one be chosen of what a file offers; of nothing, show the lists again."""
        self._offered = offered
        offers = self.query_one(Offers)
        offers.display = bool(offered)
        self.query_one("#choice").display = not offered
        self._show()
        if offered:
            offers.show(own_program.offer_rows(offered))
            self.entitle("offers", "What the file offers")
            self.set_focus(offers)

    def _show(self) -> None:
        choice = self._choice
        self.query_one("#programs", Rows).show(
            choice.program_rows(with_claims=self.size.width >= WITH_CLAIMS)
        )
        self.query_one("#tpus", Rows).show(choice.tpu_rows())
        count = 1 if choice.own_kind else len(choice.chosen_checks)
        self.entitle("programs", f"{count} chosen")
        self.entitle("tpus", f"{len(choice.tpus)} of {len(TPU_NAMES)} chosen")
        line = choice.headline()
        if self._offered:
            line = own_program.how_to_choose(self._offered)
        elif self.query_one(OwnLine).display:
            line = own_program.how_to_type(self._typing, self._begins_with)
        self.query_one("#headline", Static).update(typed(prose(line)))
        self.refresh_bindings()

    @property
    def _on_tpus(self) -> bool:
        return self.focused is self.query_one("#tpus")

    def _marked_name(self) -> str:
        rows = self.query_one("#tpus" if self._on_tpus else "#programs", Rows)
        return rows.chosen or ""

    def action_choose(self) -> None:
        """Take the marked line in or out."""
        name, choice = self._marked_name(), self._choice
        if self._on_tpus:
            choice.tpus ^= {name}
        elif name not in OWN:
            choice.turn(name)
        elif choice.own_kind == name:
            choice.own_kind = ""
        else:
            self._ask(name)
        self._show()

    def action_lesson(self) -> None:
        """Open the lesson that explains the marked check, or go back to it."""
        if (lesson := self._lesson()) and not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.to_lesson(lesson)

    def _lesson(self) -> str:
        name = self._marked_name()
        return next((check.lesson for check in self._choice.checks if check.id == name), "")

    def action_all(self) -> None:
        """Take all of a list in, or none where all are."""
        self._choice.turn_all(of_tpus=self._on_tpus)
        self._show()

    def action_other(self) -> None:
        """Go to the other list."""
        self.set_focus(self.query_one("#programs" if self._on_tpus else "#tpus"))

    @on(Offers.OptionSelected, "#offers")
    def taken(self, event: Offers.OptionSelected) -> None:
        """Put what was chosen of a file into the line, to change it there."""
        event.stop()
        if self._offered:
            program = self._offered.programs[event.option_index]
            self._offer(None)
            self._ask(program.kind, program.words, own_program.OFFERED)
            self.query_one(OwnLine).action_end()

    @on(Rows.OptionSelected, "#programs, #tpus")
    def selected(self) -> None:
        """Start; a file that is not typed yet is asked for."""
        name = self._marked_name()
        if not self._on_tpus and name in OWN and self._choice.own_kind != name:
            self._ask(name)
        else:
            self.action_start()

    def _ask(self, kind: str, words: tuple[str, ...] = (), where: str = "") -> None:
        """Let a file be typed; the line begins with these words, or those known for it."""
        if not words:
            where = "" if kind in self._choice.words else own_program.FOUND
            words = self._choice.words.get(kind) or self._choice.found.get(kind, ())
        self._typing, self._begins_with = kind, where if words else ""
        line = self.query_one(OwnLine)
        line.placeholder = OWN[kind][1]
        line.value = own_program.typed(words)
        line.display = True
        self.set_focus(line)
        self._show()

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Look at the file that was typed."""
        self._read(self._typing, event.value)

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-own")
    def _read(self, kind: str, typed: str) -> None:
        self.post_message(
            Looked(
                own_program.read_typed(kind, typed, self.tutor.choices.python, self.tutor.machine)
            )
        )

    def action_start(self) -> None:
        """Compile what is chosen."""
        if self._choice.is_complete:
            self.tutor.push_screen(Rehearsing(self._choice.request(self.tutor.choices.python)))

    def action_setup(self) -> None:
        """Show how the compiler gets here."""
        self.tutor.go.to_setup("rehearse")

    def action_back(self) -> None:
        """Leave what a file offers first, then the line, then the screen."""
        line = self.query_one(OwnLine)
        if self._offered:
            self._offer(None)
            self.set_focus(line)
        elif line.display:
            line.display = False
            self.set_focus(self.query_one("#programs"))
            self._show()
        else:
            self.dismiss()

    @on(Rows.OptionHighlighted)
    def place(self, event: Rows.OptionHighlighted) -> None:
        """Say the place in the list that is used, and in no other."""
        if event.option_list is not self.focused:
            event.prevent_default()

    @on(Rows.OptionHighlighted, "#programs, #tpus")
    def describe(self) -> None:
        """Say more about what is marked, where there is room for it."""
        name = self._marked_name()
        self.entitle("marked", name if name not in OWN else "Your program")
        self.query_one("#about-marked", Static).update(Stack(self._choice.about(name)))

    def on_descendant_focus(self) -> None:
        """With room for one list only, show the one that is used."""
        self.set_class(self._on_tpus, "-on-tpus")
        rows = self.focused
        if isinstance(rows, Rows) and rows.highlighted_option and rows.highlighted is not None:
            rows.post_message(
                Rows.OptionHighlighted(rows, rows.highlighted_option, rows.highlighted)
            )
        self.describe()
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Put the lists beside each other where there is room."""
        self.set_class(self.size.width < NARROW, "-narrow")
        self.set_class(self.size.width >= BESIDE, "-beside")
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now."""
        typing = isinstance(self.focused, OwnLine | Offers)
        if action == "start":
            return self._choice.is_complete and self._choice.has_compiler and not typing
        if action == "lesson":
            return bool(self._lesson()) and not typing
        if action == "setup":
            return not self._choice.has_compiler and not typing
        if action in ("all", "other"):
            return not typing
        return super().check_action(action, parameters)
