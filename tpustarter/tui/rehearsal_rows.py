"""What can be rehearsed, as rows: programs in groups, TPUs, and what is said of a marked one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from textual.content import Content

from tpustarter.content import Check
from tpustarter.invocation import as_typed
from tpustarter.machine.tpus import TOPOLOGIES, TpuType, parse_type
from tpustarter.rehearsal.suggestions import EXAMPLES
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, Lines, heading, prose, word
from tpustarter.tui.own_program import OWN, SCRIPT, TypedProgram, called
from tpustarter.tui.rehearsal_choice import Choice
from tpustarter.tui.widgets import Row

WITH_CLAIMS = 140
"""Columns from which the claim of each check stands beside it, ..."""
WITH_IDS = 110
"""... and from which an example has its id beside what it compiles."""
WHY_CHOSEN = "with one of every other generation, to see which of them your program fits"
"""Why some are chosen at the start."""
MOST_NAMED = 3
"""Checks that are named in a command."""
_ADD = "    "
"""In the place of a box: what is typed has none before it is there."""
_FRAMEWORKS = {"jax": "JAX", "torch_xla": "PyTorch/XLA"}


def programs(choice: Choice, width: int) -> Iterator[Row]:
    """Yield the programs in groups, each with a box, and with its claim on so wide a screen."""
    own = choice.programs
    yield Row(None, heading("Your own programs"))
    for program in own:
        yield _box_row(program.name, called(program), chosen=choice.own == program)
    for kind, (text, *_) in OWN.items():
        other = text.replace("a ", "another ", 1) if own else text
        yield Row(kind, _ADD + other)
    chosen = {*choice.chosen_checks}
    longest = max((len(check.id) for check in choice.checks), default=0) + 2
    for title, checks in _groups(choice):
        yield Row(None, "")
        yield Row(None, heading(title))
        for check in checks:
            text, claim = check.id, check.title if width >= WITH_CLAIMS else ""
            if example := EXAMPLES.get(check.id):
                text, claim = (text, example) if width >= WITH_IDS else (example, "")
            yield _box_row(check.id, f"{text:<{longest}}", claim, chosen=check.id in chosen)
    if choice.without_torch:
        yield Row(None, "")
        yield Row(None, heading(f"Checks of {_FRAMEWORKS['torch_xla']}"))
        yield Row(None, Hanging(_ADD, _without_torch(choice.without_torch)))


def _groups(choice: Choice) -> Iterator[tuple[str, list[Check]]]:
    """Yield what is compiled in seconds, and the other checks of each framework."""
    examples = [check for check in choice.checks if check.id in EXAMPLES]
    if examples:
        yield "Examples, which compile in seconds", examples
    for name in dict.fromkeys(check.framework for check in choice.checks):
        checks = [c for c in choice.checks if c.framework == name and c not in examples]
        more = "Other checks" if any(c.framework == name for c in examples) else "Checks"
        yield f"{more} of {_FRAMEWORKS.get(name, name)}", checks


def _without_torch(count: int) -> Content:
    """Return what the checks of torch_xla need."""
    return prose(
        f"{count} more, for a Python with torch_xla, and none was found here. "
        "`tpustarter setup pytorch-xla` makes one."
    )


def tpus(choice: Choice) -> Iterator[Row]:
    """Yield the TPUs, each with a box."""
    yield Row(None, heading("TPUs") + ", with the memory of a device")
    for topology in TOPOLOGIES:
        devices = f"{topology.devices:>3} device{'s' if topology.devices > 1 else ' '}"
        text = f"{topology.name:<8}{devices} {topology.hbm_gib_per_device:>6.2f} GiB"
        yield _box_row(topology.name, text, chosen=topology.name in choice.tpus)


def about(choice: Choice, name: str) -> Iterator[Lines]:
    """Yield what is to be said of a program or a TPU."""
    if name in OWN:
        _, example, how = OWN[name]
        yield Hanging("type     ", how)
        yield Hanging("example  ", example)
    if program := choice.program(name):
        yield from _about_own(program)
    for check in choice.checks:
        if check.id == name:
            if example := EXAMPLES.get(name):
                yield Hanging("program  ", example)
            yield Hanging("claim    ", prose(check.title))
            yield Hanging("lesson   ", f"{visible(check.lesson)} (l)")
            yield Hanging("command  ", f"tpustarter rehearse {visible(name)}")
    for topology in TOPOLOGIES:
        if topology.name == name:
            each = " each" if topology.devices > 1 else ""
            memory = f"{topology.devices}, with {topology.hbm_gib_per_device:.2f} GiB{each}"
            yield Hanging("TPU      ", _made_of(parse_type(name)))
            yield Hanging("devices  ", memory)
            if choice.has_every_generation and name in choice.tpus:
                yield Hanging("chosen   ", WHY_CHOSEN)
            if words := _chosen_words(choice):
                yield Hanging("command  ", visible(_command([*words, "--tpu", name])))


def _made_of(tpu: TpuType) -> str:
    """Return the generation of a TPU, and how much of it that is."""
    chips = "1 chip" if tpu.chips == 1 else f"{tpu.chips} chips"
    hosts = "1 host" if tpu.hosts == 1 else f"{tpu.hosts} hosts"
    return f"{tpu.generation.title}, {chips} on {hosts}"


def _about_own(program: TypedProgram) -> Iterator[Lines]:
    """Yield what a rehearsal does with a program of the learner's own."""
    if program.kind == SCRIPT:
        yield Hanging("does     ", "runs the script on CPU devices, and compiles what it passes "
                      "to jax.jit")  # fmt: skip
    else:
        yield Hanging("does     ", "compiles the function, and runs nothing")
    if program.needs_shapes:
        yield Hanging("shapes   ", "as they stand here; e changes them")
    elif program.kind == SCRIPT:
        given = "as they stand here" if len(program.words) > 1 else "none"
        yield Hanging("given    ", f"{given}; e changes its arguments")
    yield Hanging("command  ", visible(_command(_own_words(program))))


def _own_words(program: TypedProgram) -> list[str]:
    """Return how a command names a program of the learner's own."""
    first, *rest = program.words
    given = [word for one in rest for word in ("--arg", one)]
    return ["--script", *program.words] if program.kind == SCRIPT else [first, *given]


def _chosen_words(choice: Choice) -> list[str]:
    """Return how a command names what is chosen; empty where that is nothing, or too much."""
    if choice.own:
        return _own_words(choice.own)
    return choice.chosen_checks if len(choice.chosen_checks) <= MOST_NAMED else []


def _command(words: Sequence[str]) -> str:
    """Return the command that rehearses this."""
    return as_typed(shlex.join(["tpustarter", "rehearse", *words]))


def _box_row(name: str, text: str, claim: str = "", *, chosen: bool) -> Row:
    box = word("done", "[x]") if chosen else Content("[ ]")
    return Row(name, box + f" {visible(text)}" + prose(claim).stylize("$muted"))
