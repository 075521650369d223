"""Rehearse: choose programs and TPUs that are not there; `r` compiles the ones for the others."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter import content
from tpustarter.content import Check
from tpustarter.machine.tpus import TOPOLOGIES
from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import compiler, own_code
from tpustarter.rehearsal.progress import about
from tpustarter.rehearsal.run import EVERY_GENERATION, Request
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, Lines, Stack, prose, typed
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.screens.page import Page
from tpustarter.tui.screens.rehearsing import NARROW, Rehearsing
from tpustarter.tui.widgets import Row, Rows

NAME = "rehearse"
"""What the app keeps the screen under, so that its choices last as long as the app."""
BESIDE = 150
"""Columns from which more is said of what is marked, beside both lists."""
FUNCTION, SCRIPT = "function", "script"
CHECK_S = 1.6
"""About how long the programs of one check are compiled for one TPU, on two cores."""
NO_COMPILER = (
    "The TPU compiler is not installed here, and a rehearsal needs it. Press s, or run "
    "`tpustarter setup rehearse`: 400 MB to download, 1.2 GB on the disk."
)
OWN = {
    FUNCTION: (
        "a function in a file of mine",
        "train.py:step f32[8192,8192] bf16[8192,512]",
        "FILE.py:FUNCTION and the type of each argument; FILE.py alone calls its programs(devices)",
    ),
    SCRIPT: (
        "a script of mine, on CPU devices",
        "train.py --steps 2",
        "the script, and the arguments it takes; what it passes to jax.jit is compiled as well",
    ),
}
"""What can be rehearsed besides checks: its name, an example, and what is typed for it."""


@dataclass(frozen=True)
class TypedProgram:
    """What was typed for one of `OWN`, and names a file."""

    kind: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Available:
    """What there is to rehearse with here."""

    checks: list[Check]
    has_compiler: bool


class ChoiceRows(Rows):
    """Rows with a box each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.choose", "choose", key_display="Space", tooltip="in or out"),
        Binding("enter", "select", show=False),
    ]


class OwnLine(Input):
    """Where a file of the learner's is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "choose it", key_display="Enter", tooltip="the file typed"),
    ]


class Rehearse(Page):
    """Programs, and TPUs to compile them for."""

    HELP = """
A rehearsal asks the real TPU compiler whether a program compiles for a TPU that you don't have, and
whether it fits into the memory of that TPU. **Nothing is run**, so what compiles is not tested yet.

* **Space** selects the marked line or takes it out again, and **a** selects a whole list or
  nothing. **Tab** goes to the other list.
* **Enter** or **r** starts the rehearsal of what is selected.
* **a function in a file of mine**: type `FILE.py:FUNCTION` and the type of each argument, such as
  `train.py:step f32[8192,8192] bf16[8192,512]`. For `FILE.py` alone, its function
  `programs(devices)` is called, which yields tuples of a name, a function and its arguments. The
  arguments may be pytrees, and may have shardings.
* **a script of mine** runs unchanged on CPU devices. Each function that it passes to `jax.jit` is
  compiled for the TPUs as well.

Your own file runs in the Python that you chose in the settings, or else in the first one found that
has JAX. The compiler comes from the first environment here that has `jax` and `libtpu`.
`tpustarter setup rehearse` makes such an environment.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "setup", "set up the compiler", tooltip="tpustarter setup rehearse"),
        Binding("r", "start", "start", tooltip="tpustarter rehearse --tpu NAME,NAME"),
        Binding("a", "all", "all or none", tooltip="tpustarter rehearse"),
        Binding("tab,left,right,shift+tab", "other", "other list", key_display="Tab",
                tooltip="programs or TPUs"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__("Rehearse for a TPU that is not here")
        self._checks: list[Check] = []
        self._has_compiler = True
        """Whether an environment with the TPU compiler was found; until it was looked for, too."""
        self._excluded: set[str] = set()
        """Checks that are not wanted."""
        self._tpus = set(EVERY_GENERATION)
        self._own_kind = ""
        """Which of `OWN` is wanted; empty where it is checks."""
        self._words: dict[str, tuple[str, ...]] = {}
        """What was typed for each of `OWN`."""
        self._typing = ""

    def body(self) -> Iterable[Widget]:
        """Return a line to type a file, both lists, what is marked, and what they come to."""
        line = OwnLine(id="search")
        line.border_title = "your program"
        line.cursor_blink = False
        line.display = False
        yield line
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
        self.post_message(Looked(Available(programs, has_compiler=has_compiler)))

    def on_looked(self, message: Looked) -> None:
        """Show the checks, or take what was typed."""
        if isinstance(message.what, Available):
            is_first = not self._checks and message.what.checks
            self._checks, self._has_compiler = message.what.checks, message.what.has_compiler
            self._show(self._checks[0].id if is_first else None)
        elif isinstance(message.what, TypedProgram):
            self._take(message.what)

    def _take(self, program: TypedProgram) -> None:
        if self.query_one(OwnLine).display:  # Esc may have come first
            self._own_kind = program.kind
            self._words[self._own_kind] = program.words
            self.action_back()

    def _show(self, mark: str | None = None) -> None:
        self.query_one("#programs", Rows).show(self._program_rows(), highlight=mark)
        self.query_one("#tpus", Rows).show(self._tpu_rows())
        count = 1 if self._own_kind else len(self._chosen_checks)
        self.entitle("programs", f"{count} chosen")
        self.entitle("tpus", f"{len(self._tpus)} of {len(TOPOLOGIES)} chosen")
        self.query_one("#headline", Static).update(typed(prose(self._headline())))
        self.refresh_bindings()

    def _program_rows(self) -> Iterator[Row]:
        yield Row(None, Content.styled("Programs", "bold"))
        for kind, (text, *_) in OWN.items():
            typed = " ".join(self._words.get(kind, ()))
            yield _box_row(kind, typed or text, chosen=self._own_kind == kind)
        for check in self._checks:
            yield _box_row(check.id, check.id, chosen=check.id in self._chosen_checks)

    def _tpu_rows(self) -> Iterator[Row]:
        yield Row(None, Content.styled("TPUs", "bold") + ", with the memory of a device")
        for topology in TOPOLOGIES:
            devices = f"{topology.devices:>3} device{'s' if topology.devices > 1 else ' '}"
            text = f"{topology.name:<8}{devices} {topology.hbm_gib_per_device:>6.2f} GiB"
            yield _box_row(topology.name, text, chosen=topology.name in self._tpus)

    @property
    def _chosen_checks(self) -> list[str]:
        """The checks that are chosen."""
        if self._own_kind:
            return []
        return [check.id for check in self._checks if check.id not in self._excluded]

    def _headline(self) -> str:
        if self.query_one(OwnLine).display:
            return f"Type {OWN[self._typing][2]}."
        count = len(self._chosen_checks)
        programs = (
            "your own file" if self._own_kind else f"{count} check{'' if count == 1 else 's'}"
        )
        if not self._has_compiler:
            return NO_COMPILER
        if not (self._own_kind or count):
            return "Choose at least one program: press Space to select the marked line."
        if not self._tpus:
            return (
                "Choose at least one TPU: press Tab to go to their list, and Space to select one."
            )
        tpus = f"{len(self._tpus)} TPU{'' if len(self._tpus) == 1 else 's'}"
        if self._own_kind == SCRIPT:
            return f"r runs your script on CPU devices, and compiles what it jits for {tpus}."
        long = f", in {about(count * len(self._tpus) * CHECK_S)}" if count else ""
        return f"r compiles {programs} for {tpus}{long}. Nothing is run, no TPU is needed."

    @property
    def _on_tpus(self) -> bool:
        return self.focused is self.query_one("#tpus")

    def _marked_name(self) -> str:
        rows = self.query_one("#tpus" if self._on_tpus else "#programs", Rows)
        return rows.chosen or ""

    def action_choose(self) -> None:
        """Take the marked line in or out."""
        name = self._marked_name()
        if self._on_tpus:
            self._tpus ^= {name}
        elif name in OWN:
            if self._own_kind == name:
                self._own_kind = ""
            else:
                self._ask(name)
        elif self._own_kind:
            self._own_kind, self._excluded = "", {check.id for check in self._checks} - {name}
        else:
            self._excluded ^= {name}
        self._show()

    def action_all(self) -> None:
        """Take all of a list in, or none where all are."""
        if self._on_tpus:
            names = {topology.name for topology in TOPOLOGIES}
            self._tpus = set[str]() if self._tpus == names else names
        else:
            names = {check.id for check in self._checks}
            self._excluded = (
                names if not self._own_kind and not self._excluded & names else set[str]()
            )
            self._own_kind = ""
        self._show()

    def action_other(self) -> None:
        """Go to the other list."""
        self.set_focus(self.query_one("#programs" if self._on_tpus else "#tpus"))

    @on(Rows.OptionSelected)
    def selected(self) -> None:
        """Start; a file that is not typed yet is asked for."""
        name = self._marked_name()
        if not self._on_tpus and name in OWN and self._own_kind != name:
            self._ask(name)
        else:
            self.action_start()

    def _ask(self, kind: str) -> None:
        """Let a file be typed."""
        self._typing = kind
        line = self.query_one(OwnLine)
        line.placeholder = OWN[kind][1]
        line.value = shlex.join(self._words.get(kind, ()))
        line.display = True
        self.set_focus(line)
        line.cursor_position = len(line.value)
        self._show()

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Look at the file that was typed."""
        self._read(self._typing, event.value)

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOOK}-own")
    def _read(self, kind: str, typed: str) -> None:
        self.post_message(Looked(TypedProgram(kind, read_words(kind, typed))))

    def action_start(self) -> None:
        """Compile what is chosen."""
        if not self._tpus or not (self._own_kind or self._chosen_checks):
            return
        names = tuple(topology.name for topology in TOPOLOGIES if topology.name in self._tpus)
        request = Request(ids=tuple(self._chosen_checks), tpus=names)
        if self._own_kind:
            first, *rest = self._words[self._own_kind]
            request = replace(request, python=self.tutor.choices.python)
            if self._own_kind == SCRIPT:
                request = replace(request, script=(first, *rest))
            else:
                request = replace(request, ids=(first,), arguments=tuple(rest))
        self.tutor.push_screen(Rehearsing(request))

    def action_setup(self) -> None:
        """Show how the compiler gets here."""
        self.tutor.go.to_setup("rehearse")

    def action_back(self) -> None:
        """Leave the line first, then the screen."""
        line = self.query_one(OwnLine)
        if line.display:
            line.display = False
            self.set_focus(self.query_one("#programs"))
            self._show()
        else:
            self.dismiss()

    @on(Rows.OptionHighlighted)
    def describe(self) -> None:
        """Say more about what is marked, where there is room for it."""
        name = self._marked_name()
        self.entitle("marked", name if name not in OWN else "your program")
        self.query_one("#about-marked", Static).update(Stack(self._about(name)))

    def _about(self, name: str) -> Iterator[Lines]:
        if name in OWN:
            text, example, how = OWN[name]
            yield Hanging("what     ", text)
            yield Hanging("type     ", how)
            yield Hanging("example  ", example)
        for check in self._checks:
            if check.id == name:
                yield Hanging("claim    ", prose(check.title))
                yield Hanging("lesson   ", visible(check.lesson))
                yield Hanging("command  ", f"tpustarter rehearse {visible(name)}")
        if any(topology.name == name for topology in TOPOLOGIES):
            yield Hanging("command  ", f"tpustarter rehearse --tpu {name}")

    def on_descendant_focus(self) -> None:
        """With room for one list only, show the one that is used."""
        self.set_class(self._on_tpus, "-on-tpus")
        self.describe()
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Put the lists beside each other where there is room."""
        self.set_class(self.size.width < NARROW, "-narrow")
        self.set_class(self.size.width >= BESIDE, "-beside")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now."""
        typing = isinstance(self.focused, OwnLine)
        if action == "start":
            chosen = bool(self._tpus) and bool(self._own_kind or self._chosen_checks)
            return chosen and self._has_compiler and not typing
        if action == "setup":
            return not self._has_compiler and not typing
        if action in ("all", "other"):
            return not typing
        return super().check_action(action, parameters)


def read_words(kind: str, typed: str) -> tuple[str, ...]:
    """Return the words typed for a function or a script; raises Problem where they name none."""
    try:
        words = tuple(shlex.split(typed))
    except ValueError as error:
        raise Problem(
            f"a quotation mark is not closed in `{typed}`", code=ExitCode.USAGE
        ) from error
    example = OWN[kind][1]
    if not words:
        raise Problem("no file is named", hint=f"for example `{example}`", code=ExitCode.USAGE)
    if kind == SCRIPT:
        if not Path(words[0]).expanduser().is_file():
            raise Problem(f"there is no file `{words[0]}`", code=ExitCode.USAGE)
    elif own_code.is_code(words[0]):
        words = tuple(word for word in words if word != "--arg")  # as the command has it
        own_code.read(words[0], words[1:])
    else:
        raise Problem(f"found `{words[0]}`, expected `FILE.py:FUNCTION`",
                      hint=f"for example `{example}`", code=ExitCode.USAGE)  # fmt: skip
    return words


def _box_row(name: str, text: str, *, chosen: bool) -> Row:
    return Row(name, f"[{'x' if chosen else ' '}] {visible(text)}")
