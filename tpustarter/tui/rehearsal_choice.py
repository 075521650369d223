"""What a rehearsal is of: the programs and the TPUs that are chosen, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tpustarter.content import Check
from tpustarter.machine.tpus import TOPOLOGIES
from tpustarter.rehearsal.progress import about
from tpustarter.rehearsal.request import EVERY_GENERATION, Request
from tpustarter.tui.own_program import SCRIPT, TypedProgram

CHECK_S = 1.6
"""About how long the programs of one check are compiled for one TPU, on two cores."""
NO_COMPILER = (
    "The TPU compiler is not installed here, and a rehearsal needs it. Press s, or run "
    "`tpustarter setup rehearse`: 400 MB to download, 1.2 GB on the disk."
)
NOT_ON_TPU = "Nothing is run on a TPU."
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
    own: TypedProgram | None = None
    """The program of the learner's own that is wanted; None where it is checks."""
    typed: list[TypedProgram] = field(default_factory=list["TypedProgram"])
    """What was typed, the last one first."""
    found: Sequence[TypedProgram] = ()
    """What the files in this folder offer."""
    without_torch: int = 0
    """Checks of torch_xla that cannot be compiled, for no Python here has it."""

    @property
    def programs(self) -> list[TypedProgram]:
        """The programs of the learner's own: those that were typed, and what else is found."""
        known = {one.function for one in self.typed}
        return [*self.typed, *(one for one in self.found if one.function not in known)]

    def program(self, name: str) -> TypedProgram | None:
        """Return a program of the learner's own by its name."""
        return next((one for one in self.programs if one.name == name), None)

    @property
    def chosen_checks(self) -> list[str]:
        """The checks that are chosen."""
        if self.own:
            return []
        return [check.id for check in self.checks if check.id in self.wanted]

    @property
    def is_complete(self) -> bool:
        """Whether there is something to compile, and something to compile it for."""
        return bool(self.tpus) and bool(self.own or self.chosen_checks)

    @property
    def has_every_generation(self) -> bool:
        """Whether the TPUs are those that stand for their generations, as at the start."""
        return self.tpus == {*EVERY_GENERATION}

    def tpu_count(self) -> str:
        """Return how many TPUs are chosen, and why it is these."""
        what = ", one of each generation" if self.has_every_generation else " TPUs chosen"
        return f"{len(self.tpus)} of {len(TPU_NAMES)}{what}"

    def take(self, program: TypedProgram) -> None:
        """Take a program of the learner's own, in the place of the same one with other words."""
        self.own, self.wanted = program, set[str]()
        others = [one for one in self.typed if one.function != program.function]
        self.typed = [program, *others]

    def turn_own(self, program: TypedProgram) -> None:
        """Take a program of the learner's own in, in the place of all checks, or out."""
        self.own = None if self.own == program else program
        self.wanted = set[str]()

    def turn(self, check: str) -> None:
        """Take a check in or out; the first one takes the place of a program of one's own."""
        if self.own:
            self.own, self.wanted = None, {check}
        else:
            self.wanted ^= {check}

    def turn_all(self, *, of_tpus: bool) -> None:
        """Take all of a list in, or none where all are."""
        if of_tpus:
            self.tpus = set[str]() if self.tpus == {*TPU_NAMES} else {*TPU_NAMES}
            return
        names = {check.id for check in self.checks}
        are_all = not self.own and names <= self.wanted
        self.own, self.wanted = None, set[str]() if are_all else names

    def request(self, python: str | None) -> Request:
        """Return what is asked for; the learner's own program runs in this Python."""
        names = tuple(name for name in TPU_NAMES if name in self.tpus)
        request = Request(ids=tuple(self.chosen_checks), tpus=names)
        if not self.own:
            return request
        first, *rest = self.own.words
        if self.own.kind == SCRIPT:
            return replace(request, python=python, script=(first, *rest))
        return replace(request, python=python, ids=(first,), arguments=tuple(rest))

    def headline(self) -> str:
        """Return what the choice comes to, in a sentence."""
        count = len(self.chosen_checks)
        programs = "your own program" if self.own else f"{count} check{'' if count == 1 else 's'}"
        if not self.has_compiler:
            return NO_COMPILER
        if not (self.own or count):
            return (
                "Choose at least one program: press Space to select the marked line, or a for all "
                "checks."
            )
        if not self.tpus:
            return (
                "Choose at least one TPU: press Tab to go to their list, and Space to select one."
            )
        tpus = f"{len(self.tpus)} TPU{'' if len(self.tpus) == 1 else 's'}"
        if self.has_every_generation:
            tpus += ", one of each generation"
        if self.own and self.own.kind == SCRIPT:
            runs = f"r runs your script on CPU devices, and compiles what it jits for {tpus}."
            return f"{runs} {self.own.note or NOT_ON_TPU}"
        long = f", in {about(count * len(self.tpus) * CHECK_S)}" if count else ""
        return f"r compiles {programs} for {tpus}{long}. Nothing is run, no TPU is needed."
