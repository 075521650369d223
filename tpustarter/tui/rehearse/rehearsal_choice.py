"""The choice of programs and TPUs for a rehearsal, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tpustarter.core.content import Check
from tpustarter.machine.tpus import TOPOLOGIES
from tpustarter.rehearsal.programs.rehearsal_request import EVERY_GENERATION, RehearsalRequest
from tpustarter.rehearsal.text.rehearsal_progress import format_rounded_time
from tpustarter.text import phrases
from tpustarter.tui.rehearse.typed_program import SCRIPT, TypedProgram

CHECK_S = 1.6
"""Seconds, roughly, to compile the programs of one check for one TPU on two cores."""
NO_COMPILER = (
    "The TPU compiler is not installed here, and a rehearsal needs it. Press s, or run "
    "`tpustarter setup rehearse`: 400 MB to download, 1.2 GB on the disk."
)
NOT_ON_TPU = "Nothing is run on a TPU."
TPU_NAMES = tuple(topology.name for topology in TOPOLOGIES)


@dataclass
class RehearsalChoice:
    """The selected programs and TPUs; a user's program excludes all checks."""

    checks: Sequence[Check] = ()
    has_compiler: bool = True
    """True if an environment with the TPU compiler was found, and before the search."""
    wanted: set[str] = field(default_factory=set[str])
    """The ids of the selected checks."""
    tpus: set[str] = field(default_factory=lambda: set(EVERY_GENERATION))
    own: TypedProgram | None = None
    """The selected user's program; None if checks are selected."""
    typed: list[TypedProgram] = field(default_factory=list["TypedProgram"])
    """The programs that were typed, latest first."""
    found: Sequence[TypedProgram] = ()
    """The programs found in the files of the working directory."""
    without_torch: int = 0
    """Number of torch_xla checks left out, because no Python on this machine can lower them."""

    @property
    def programs(self) -> list[TypedProgram]:
        """The user's programs: the typed ones, then the found ones with other functions."""
        known = {one.file_and_function for one in self.typed}
        return [*self.typed, *(one for one in self.found if one.file_and_function not in known)]

    def program(self, name: str) -> TypedProgram | None:
        """Return a user's program by its name, or None if there is none."""
        return next((one for one in self.programs if one.name == name), None)

    @property
    def chosen_checks(self) -> list[str]:
        """The ids of the selected checks as listed, or none if a user's program is selected."""
        if self.own:
            return []
        return [check.id for check in self.checks if check.id in self.wanted]

    @property
    def is_complete(self) -> bool:
        """True if at least one program and one TPU are selected."""
        return bool(self.tpus) and bool(self.own or self.chosen_checks)

    @property
    def has_every_generation(self) -> bool:
        """True if the TPUs are the initial ones, one of each generation."""
        return self.tpus == {*EVERY_GENERATION}

    def tpu_count(self) -> str:
        """Return the number of selected TPUs, as a title for their list."""
        what = ", one of each generation" if self.has_every_generation else " TPUs chosen"
        return f"{len(self.tpus)} of {len(TPU_NAMES)}{what}"

    def select_program(self, program: TypedProgram) -> None:
        """Select a typed program, replacing one of the same function with other arguments."""
        self.own, self.wanted = program, set[str]()
        others = [one for one in self.typed if one.file_and_function != program.file_and_function]
        self.typed = [program, *others]

    def turn_own(self, program: TypedProgram) -> None:
        """Select a user's program instead of all checks, or deselect it."""
        self.own = None if self.own == program else program
        self.wanted = set[str]()

    def toggle_check(self, check: str) -> None:
        """Select or deselect a check, which deselects any user's program."""
        if self.own:
            self.own, self.wanted = None, {check}
        else:
            self.wanted ^= {check}

    def turn_all(self, *, of_tpus: bool) -> None:
        """Select all entries of a list, or deselect them if all are selected."""
        if of_tpus:
            self.tpus = set[str]() if self.tpus == {*TPU_NAMES} else {*TPU_NAMES}
            return
        names = {check.id for check in self.checks}
        are_all = not self.own and names <= self.wanted
        self.own, self.wanted = None, set[str]() if are_all else names

    def request(self, python: str | None) -> RehearsalRequest:
        """Return the rehearsal to run; `python` is the Python that runs a user's program."""
        names = tuple(name for name in TPU_NAMES if name in self.tpus)
        request = RehearsalRequest(ids=tuple(self.chosen_checks), tpus=names)
        if not self.own:
            return request
        own = self.own
        if own.kind == SCRIPT:
            return replace(request, python=python, script=own.words)
        ids, arguments = own.words[:1], own.arguments
        return replace(request, python=python, ids=ids, arguments=arguments, fit=own.dimension)

    def headline(self) -> str:
        """Return a sentence with the next key, or with the missing part of the choice."""
        count = len(self.chosen_checks)
        programs = "your own program" if self.own else phrases.format_count(count, "check")
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
        tpus = phrases.format_count(len(self.tpus), "TPU")
        if self.has_every_generation:
            tpus += ", one of each generation"
        if self.own and self.own.kind == SCRIPT:
            runs = f"r runs your script on CPU devices, and compiles what it jits for {tpus}."
            return f"{runs} {self.own.note or NOT_ON_TPU}"
        if self.own and (name := self.own.dimension):
            return f"r searches the largest {name} for {tpus}. Nothing is run, no TPU is needed."
        long = f", in {format_rounded_time(count * len(self.tpus) * CHECK_S)}" if count else ""
        return f"r compiles {programs} for {tpus}{long}. Nothing is run, no TPU is needed."
