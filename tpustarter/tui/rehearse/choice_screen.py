"""The screen on which programs and TPUs are selected for a rehearsal."""

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

from tpustarter.core import content
from tpustarter.core.content import Check
from tpustarter.rehearsal.compile import compiler
from tpustarter.rehearsal.programs import user_python
from tpustarter.text import phrases
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.kit.text_layout import StackedText, adapt_commands, style_sentence
from tpustarter.tui.rehearse import choice_rows, typed_program
from tpustarter.tui.rehearse.rehearsal_choice import RehearsalChoice
from tpustarter.tui.rehearse.rehearsal_screen import NARROW, RehearsalScreen
from tpustarter.tui.rehearse.typed_program import (
    FUNCTION,
    OWN,
    AmbiguousPrograms,
    ProgramInput,
    ProgramOfferList,
    TypedProgram,
)

NAME = "rehearse"
"""The name of the installed screen, which keeps its choices until the app ends."""
BESIDE = 180
"""Width in columns from which the marked row is described to the right of both lists."""


@dataclass(frozen=True)
class AvailablePrograms:
    """The programs and compilers found on this machine."""

    checks: list[Check]
    has_compiler: bool
    own: tuple[TypedProgram, ...]
    """The programs found in the files of the working directory."""
    has_torch: bool
    """True if a Python on this machine can lower torch_xla programs."""


class ChoiceRows(RowList):
    """A list in which each row has a box to select it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.choose", "choose", key_display="Space", tooltip="in or out"),
        Binding("enter", "select", show=False),
    ]


class RehearsalChoiceScreen(Page):
    """The lists of programs and TPUs, and an input line for the user's own program."""

    HELP = """
A rehearsal asks the real TPU compiler whether a program compiles for a TPU that you don't have, and
whether it fits into the memory of that TPU. **Nothing is run on a TPU**, so what compiles is not
tested yet.

* **Space** selects the marked line or takes it out again, and **a** selects a whole list or
  nothing. **Tab** goes to the other list.
* **Enter** or **r** starts the rehearsal of what is selected.
* Your own programs come first. The functions and scripts of the files in this folder are listed,
  and **e** changes the shapes or arguments of one.
* **a function in a file of mine**: type `FILE.py` to choose one of its functions, or
  `FILE.py:FUNCTION` and the type of each argument, such as
  `train.py:step f32[8192,8192] bf16[8192,512]`. Where the file has a function `programs(devices)`,
  that is called. It yields tuples of a name, a function and its arguments, which may be pytrees,
  and may have shardings.
* **the largest size that fits**: name it in place of a size, and after `--fit`, such as
  `train.py:step f32[8192,8192] bf16[batch,512] --fit batch`. A function
  `programs(devices, batch)` needs `FILE.py --fit batch` alone.
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
        Binding("e", "change", "change", tooltip="shapes or arguments of your program"),
        Binding("a", "all", "all or none", tooltip="tpustarter rehearse 'jax.*'"),
        Binding(
            "tab,left,right,shift+tab",
            "other",
            "other list",
            key_display="Tab",
            tooltip="programs or TPUs",
        ),
    ]

    def __init__(self) -> None:
        super().__init__("Rehearse for a TPU that is not here")
        self._choice = RehearsalChoice()
        self._typing = ""
        """The kind of program being typed, a key of `OWN`."""
        self._changing: TypedProgram | None = None
        """The program that the input line was filled with, to be edited."""
        self._offered: AmbiguousPrograms | None = None
        """The programs of the typed file, while the user chooses one of them."""

    def body(self) -> Iterable[Widget]:
        line = ProgramInput(id="search")
        line.border_title = "Your program"
        line.display = False
        yield line
        offers = ProgramOfferList(id="offers")
        offers.display = False
        yield offers
        with Container(id="choice"):
            yield ChoiceRows(id="programs")
            yield ChoiceRows(id="tpus")
            with VerticalScroll(id="marked", can_focus=False):
                yield Static("", id="about-marked")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#programs"))
        self._show()

    def on_screen_resume(self) -> None:
        """Read the programs again, because the files may have changed."""
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look(self) -> None:
        checks = content.read_checks(self.tutor.checks)
        programs = [check for check in checks if check.has_programs]
        has_compiler = compiler.is_tpu_compiler_installed(self.tutor.machine)
        own = typed_program.find_typed_programs(Path.cwd())
        has_torch = user_python.can_lower_torch_modules("torch_xla", self.tutor.machine, Path.cwd())
        available = AvailablePrograms(
            programs, has_compiler=has_compiler, own=own, has_torch=has_torch
        )
        self.post_message(FactsLoaded(available))

    def on_facts_loaded(
        self, message: FactsLoaded[AvailablePrograms | TypedProgram | AmbiguousPrograms]
    ) -> None:
        if isinstance(message.facts, AvailablePrograms):
            self._offer_all(message.facts)
        elif not self.query_one(ProgramInput).display:  # Esc came first
            return
        elif isinstance(message.facts, TypedProgram):
            self._choice.select_program(message.facts)
            self.action_back()
            self._show(message.facts.name)
        else:
            self._offer(message.facts)

    def _offer_all(self, available: AvailablePrograms) -> None:
        """Update the choice, leaving out checks that no Python on this machine can lower."""
        choice = self._choice
        torch = [check for check in available.checks if check.framework == "torch_xla"]
        left_out = [] if available.has_torch else torch
        choice.checks = [check for check in available.checks if check not in left_out]
        choice.has_compiler, choice.found = available.has_compiler, available.own
        choice.without_torch = len(left_out)
        is_unmoved = self.query_one("#programs", RowList).highlighted_id == FUNCTION
        own = choice.programs
        self._show(own[0].name if own and is_unmoved else None)

    def _offer(self, offered: AmbiguousPrograms | None) -> None:
        """Show a file's programs to choose from, or both lists again if there are none."""
        self._offered = offered
        offers = self.query_one(ProgramOfferList)
        offers.display = bool(offered)
        self.query_one("#choice").display = not offered
        self._show()
        if offered:
            offers.show(typed_program.make_offer_rows(offered))
            self.set_area_title("offers", "What the file offers")
            self.set_focus(offers)

    def _show(self, highlight: str | None = None) -> None:
        choice = self._choice
        self.query_one("#programs", RowList).show(
            choice_rows.program_rows(choice, self.size.width), highlight=highlight
        )
        self.query_one("#tpus", RowList).show(choice_rows.tpu_rows(choice))
        count = 1 if choice.own else len(choice.chosen_checks)
        self.set_area_title("programs", f"{phrases.format_count(count, 'program')} chosen")
        self.set_area_title("tpus", choice.tpu_count())
        line = choice.headline()
        if self._offered:
            line = typed_program.describe_choosing(self._offered)
        elif self.query_one(ProgramInput).display:
            line = typed_program.describe_typing(self._typing, self._changing)
        self.query_one("#headline", Static).update(adapt_commands(style_sentence(line)))
        self.refresh_bindings()

    @property
    def _on_tpus(self) -> bool:
        return self.focused is self.query_one("#tpus")

    def _marked_name(self) -> str:
        rows = self.query_one("#tpus" if self._on_tpus else "#programs", RowList)
        return rows.highlighted_id or ""

    def action_choose(self) -> None:
        name, choice = self._marked_name(), self._choice
        if self._on_tpus:
            choice.tpus ^= {name}
        elif name in OWN:
            self._ask(name)
        elif program := choice.program(name):
            self._turn(program)
        else:
            choice.toggle_check(name)
        self._show()

    def _turn(self, program: TypedProgram) -> None:
        """Select or deselect a user's program, asking for missing shapes first."""
        choice = self._choice
        if program.needs_shapes and program not in choice.typed:
            self._ask(program.kind, program)
        else:
            choice.turn_own(program)

    def action_change(self) -> None:
        if program := self._choice.program(self._marked_name()):
            self._ask(program.kind, program)

    def action_lesson(self) -> None:
        if (lesson := self._lesson()) and not self.tutor.go.back_to_lesson(lesson):
            self.tutor.go.open_lesson(lesson)

    def _lesson(self) -> str:
        name = self._marked_name()
        return next((check.lesson for check in self._choice.checks if check.id == name), "")

    def action_all(self) -> None:
        self._choice.turn_all(of_tpus=self._on_tpus)
        self._show()

    def action_other(self) -> None:
        self.set_focus(self.query_one("#programs" if self._on_tpus else "#tpus"))

    @on(ProgramOfferList.OptionSelected, "#offers")
    def copy_offer(self, event: ProgramOfferList.OptionSelected) -> None:
        """Copy the chosen program of a file into the input line, to be edited."""
        event.stop()
        if self._offered:
            program = self._offered.programs[event.option_index]
            self._offer(None)
            self._ask(program.kind, program)

    @on(RowList.OptionSelected, "#programs, #tpus")
    def start_or_select(self) -> None:
        """Start the rehearsal, or select the marked program if it isn't selected yet."""
        name, choice = self._marked_name(), self._choice
        program = choice.program(name)
        if not self._on_tpus and (name in OWN or (program and choice.own != program)):
            self.action_choose()
        else:
            self.action_start()

    def _ask(self, kind: str, program: TypedProgram | None = None) -> None:
        """Show the input line, filled with the words of a program to edit."""
        self._typing, self._changing = kind, program
        words = program.words if program else ()
        line = self.query_one(ProgramInput)
        line.placeholder = OWN[kind][1]
        line.value = typed_program.join_words(words)
        line.display = True
        line.select_on_focus = not words  # else typing would replace them
        self.set_focus(line)
        line.action_end()
        self._show()

    @on(Input.Submitted)
    def read_typed_file(self, event: Input.Submitted) -> None:
        """Read the typed file."""
        self._read(self._typing, event.value)

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-own")
    def _read(self, kind: str, typed: str) -> None:
        self.post_message(
            FactsLoaded(
                typed_program.parse_typed_program(
                    kind, typed, self.tutor.choices.python, self.tutor.machine
                )
            )
        )

    def action_start(self) -> None:
        if self._choice.is_complete:
            request = self._choice.request(self.tutor.choices.python)
            self.tutor.push_screen(
                RehearsalScreen(request, change=self._change_own, search=self._search_size)
            )

    def _change_own(self) -> None:
        if own := self._choice.own:
            self._ask(own.kind, own)

    def _search_size(self) -> None:
        if own := self._choice.own:
            self._ask(own.kind, typed_program.add_dimension(own))

    def action_setup(self) -> None:
        self.tutor.go.open_setup("rehearse")

    def action_back(self) -> None:
        line = self.query_one(ProgramInput)
        if self._offered:
            self._offer(None)
            self.set_focus(line)
        elif line.display:
            line.display = False
            self.set_focus(self.query_one("#programs"))
            self._show()
        else:
            self.dismiss()

    @on(RowList.OptionHighlighted)
    def show_position(self, event: RowList.OptionHighlighted) -> None:
        """Show the position in the focused list only."""
        if event.option_list is not self.focused:
            event.prevent_default()

    @on(RowList.OptionHighlighted, "#programs, #tpus")
    def describe(self) -> None:
        """Describe the marked row in the panel next to the lists."""
        name = self._marked_name()
        program = self._choice.program(name)
        title = program.words[0] if program else OWN[name][0] if name in OWN else name
        self.set_area_title("marked", title)
        self.query_one("#about-marked", Static).update(
            StackedText(choice_rows.describe_program_or_tpu(self._choice, name))
        )

    def on_descendant_focus(self) -> None:
        """Show the focused list, because a narrow screen has room for only one."""
        self.set_class(self._on_tpus, "-on-tpus")
        rows = self.focused
        if isinstance(rows, RowList) and rows.highlighted_option and rows.highlighted is not None:
            rows.post_message(
                RowList.OptionHighlighted(rows, rows.highlighted_option, rows.highlighted)
            )
        self.describe()
        self.refresh_bindings()

    def on_resize(self) -> None:
        self.set_class(self.size.width < NARROW, "-narrow")
        self.set_class(self.size.width >= BESIDE, "-beside")
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        typing = isinstance(self.focused, ProgramInput | ProgramOfferList)
        if action == "start":
            return self._choice.is_complete and self._choice.has_compiler and not typing
        if action == "lesson":
            return bool(self._lesson()) and not typing
        if action == "change":
            return self._choice.program(self._marked_name()) is not None and not typing
        if action == "setup":
            return not self._choice.has_compiler and not typing
        if action in ("all", "other"):
            return not typing
        return super().check_action(action, parameters)
