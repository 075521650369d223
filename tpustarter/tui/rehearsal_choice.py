"""What a rehearsal is of: the programs and the TPUs that are chosen, and what they come to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from textual.content import Content

from tpustarter.content import Check
from tpustarter.invocation import as_typed
from tpustarter.machine.tpus import TOPOLOGIES
from tpustarter.rehearsal.progress import about
from tpustarter.rehearsal.request import EVERY_GENERATION, Request
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, Lines, heading, prose, word
from tpustarter.tui.own_program import OWN, SCRIPT, TypedProgram
from tpustarter.tui.widgets import Row

CHECK_S = 1.6
"""About how long the programs of one check are compiled for one TPU, on two cores."""
NO_COMPILER = (
    "The TPU compiler is not installed here, and a rehearsal needs it. Press s, or run "
    "`tpustarter setup rehearse`: 400 MB to download, 1.2 GB on the disk."
)
TPU_NAMES = tuple(topology.name for topology in TOPOLOGIES)


@dataclass
class Choice:
    """Programs and TPUs; a program of the learner's own takes the place of all checks."""

    checks: Sequence[Check] = ()
    has_compiler: bool = True
    """Whether an environment with the TPU compiler was found; until it was looked for, too."""
    wanted: set[str] = field(default_factory=set[str])
    """Checks that are wanted."""
    tpus: set[str] = field(default_factory=lambda: set(EVERY_GENERATION))
    own_kind: str = ""
    """Which of `OWN` is wanted; empty where it is checks."""
    words: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """What was typed for each of `OWN`."""
    note: str = ""
    """What is to be known of the learner's own program before it is started."""
    found: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """What the files in this folder offer for each of `OWN`."""

    @property
    def chosen_checks(self) -> list[str]:
        """The checks that are chosen."""
        if self.own_kind:
            return []
        return [check.id for check in self.checks if check.id in self.wanted]

    @property
    def is_complete(self) -> bool:
        """Whether there is something to compile, and something to compile it for."""
        return bool(self.tpus) and bool(self.own_kind or self.chosen_checks)

    def take(self, program: TypedProgram) -> None:
        """Take a program of the learner's own."""
        self.own_kind, self.note = program.kind, program.note
        self.words[program.kind] = program.words

    def turn(self, check: str) -> None:
        """Take a check in or out; the first one takes the place of what was typed."""
        if self.own_kind:
            self.own_kind, self.wanted = "", {check}
        else:
            self.wanted ^= {check}

    def turn_all(self, *, of_tpus: bool) -> None:
        """Take all of a list in, or none where all are."""
        if of_tpus:
            self.tpus = set[str]() if self.tpus == {*TPU_NAMES} else {*TPU_NAMES}
            return
        names = {check.id for check in self.checks}
        are_all = not self.own_kind and names <= self.wanted
        self.own_kind, self.wanted = "", set[str]() if are_all else names

    def request(self, python: str | None) -> Request:
        """Return what is asked for; the learner's own program runs in this Python."""
        names = tuple(name for name in TPU_NAMES if name in self.tpus)
        request = Request(ids=tuple(self.chosen_checks), tpus=names)
        if not self.own_kind:
            return request
        first, *rest = self.words[self.own_kind]
        if self.own_kind == SCRIPT:
            return replace(request, python=python, script=(first, *rest))
        return replace(request, python=python, ids=(first,), arguments=tuple(rest))

    def program_rows(self, *, with_claims: bool) -> Iterator[Row]:
        """Yield the programs, each with a box, and where there is room with its claim."""
        yield Row(None, heading("Programs"))
        for kind, (text, *_) in OWN.items():
            typed = " ".join(self.words.get(kind, ()))
            yield _box_row(kind, typed or text, chosen=self.own_kind == kind)
        chosen = {*self.chosen_checks}
        width = max((len(check.id) for check in self.checks), default=0) + 2 if with_claims else 0
        for check in self.checks:
            claim = visible(check.title) if with_claims else ""
            yield _box_row(check.id, f"{check.id:<{width}}", claim, chosen=check.id in chosen)

    def tpu_rows(self) -> Iterator[Row]:
        """Yield the TPUs, each with a box."""
        yield Row(None, heading("TPUs") + ", with the memory of a device")
        for topology in TOPOLOGIES:
            devices = f"{topology.devices:>3} device{'s' if topology.devices > 1 else ' '}"
            text = f"{topology.name:<8}{devices} {topology.hbm_gib_per_device:>6.2f} GiB"
            yield _box_row(topology.name, text, chosen=topology.name in self.tpus)

    def headline(self) -> str:
        """Return what the choice comes to, in a sentence."""
        count = len(self.chosen_checks)
        programs = "your own file" if self.own_kind else f"{count} check{'' if count == 1 else 's'}"
        if not self.has_compiler:
            return NO_COMPILER
        if not (self.own_kind or count):
            return (
                "Choose at least one program: press Space to select the marked line, or a for all "
                "checks."
            )
        if not self.tpus:
            return (
                "Choose at least one TPU: press Tab to go to their list, and Space to select one."
            )
        tpus = f"{len(self.tpus)} TPU{'' if len(self.tpus) == 1 else 's'}"
        if self.own_kind == SCRIPT:
            runs = f"r runs your script on CPU devices, and compiles what it jits for {tpus}."
            return f"{runs} {self.note}".strip()
        long = f", in {about(count * len(self.tpus) * CHECK_S)}" if count else ""
        return f"r compiles {programs} for {tpus}{long}. Nothing is run, no TPU is needed."

    def about(self, name: str) -> Iterator[Lines]:
        """Yield what is to be said of a program or a TPU."""
        if name in OWN:
            text, example, how = OWN[name]
            if words := self.words.get(name):
                yield Hanging("command  ", visible(_command(name, words)))
            yield Hanging("what     ", text)
            yield Hanging("type     ", how)
            yield Hanging("example  ", example)
        for check in self.checks:
            if check.id == name:
                yield Hanging("claim    ", prose(check.title))
                yield Hanging("lesson   ", f"{visible(check.lesson)} (l)")
                yield Hanging("command  ", f"tpustarter rehearse {visible(name)}")
        if name in TPU_NAMES:
            yield Hanging("command  ", f"tpustarter rehearse --tpu {name}")


def _command(kind: str, words: Sequence[str]) -> str:
    """Return the command that rehearses a program of the learner's own."""
    first, *rest = words
    given = [word for one in rest for word in ("--arg", one)]
    options = ["--script", *words] if kind == SCRIPT else [first, *given]
    return as_typed(shlex.join(["tpustarter", "rehearse", *options]))


def _box_row(name: str, text: str, claim: str = "", *, chosen: bool) -> Row:
    box = word("done", "[x]") if chosen else Content("[ ]")
    return Row(name, box + f" {visible(text)}" + Content.styled(claim, "$muted"))
