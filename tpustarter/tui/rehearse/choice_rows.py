"""The rows to choose from for a rehearsal, grouped programs and TPUs, with their descriptions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from textual.content import Content

from tpustarter.core.content import Check
from tpustarter.machine import frameworks
from tpustarter.machine.tpus import TOPOLOGIES, TpuType, parse_type
from tpustarter.rehearsal.programs.suggestions import EXAMPLES
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    group_heading,
    status_word,
    style_sentence,
)
from tpustarter.tui.rehearse.rehearsal_choice import RehearsalChoice
from tpustarter.tui.rehearse.typed_program import (
    FIT,
    OWN,
    SCRIPT,
    TypedProgram,
    format_label,
    make_row,
)

WITH_CLAIMS = 140
"""Width in columns from which each check is shown with its claim."""
WITH_IDS = 110
"""Width in columns from which an example is shown with its id."""
WHY_CHOSEN = "with one of every other generation, to see which of them your program fits"
"""The reason why some TPUs are selected at the start."""
MOST_NAMED = 3
"""Maximum number of checks that a command names."""
_ADD = "    "
"""Indent instead of a box, for a program that is still to be typed."""


def program_rows(choice: RehearsalChoice, width: int) -> Iterator[Row]:
    """Yield the programs in groups, each with a box; wide screens also show the claims."""
    own = choice.programs
    yield Row(None, group_heading("Your own programs"))
    for program in own:
        label = _box(format_label(program), chosen=choice.own == program)
        yield make_row(program.name, label, program)
    for kind, (text, *_) in OWN.items():
        other = text.replace("a ", "another ", 1) if own else text
        yield Row(kind, _ADD + other)
    chosen = {*choice.chosen_checks}
    longest = max((len(check.id) for check in choice.checks), default=0) + 2
    for title, checks in _groups(choice):
        yield Row(None, "")
        yield Row(None, group_heading(title))
        for check in checks:
            text, claim = check.id, check.title if width >= WITH_CLAIMS else ""
            if example := EXAMPLES.get(check.id):
                text, claim = (text, example) if width >= WITH_IDS else (example, "")
            yield _box_row(check.id, f"{text:<{longest}}", claim, chosen=check.id in chosen)
    if choice.without_torch:
        yield Row(None, "")
        yield Row(None, group_heading(f"Checks of {frameworks.FRAMEWORKS['torch_xla'].title}"))
        text = (
            f"{choice.without_torch} more, for a Python with torch_xla, and none was found here. "
            "`tpustarter setup pytorch-xla` makes one."
        )
        yield Row(None, HangingText(_ADD, style_sentence(text)))


def _groups(choice: RehearsalChoice) -> Iterator[tuple[str, list[Check]]]:
    """Yield the examples, which compile in seconds, and the other checks of each framework."""
    examples = [check for check in choice.checks if check.id in EXAMPLES]
    if examples:
        yield "Examples, which compile in seconds", examples
    for name in dict.fromkeys(check.framework for check in choice.checks):
        checks = [c for c in choice.checks if c.framework == name and c not in examples]
        more = "Other checks" if any(c.framework == name for c in examples) else "Checks"
        yield f"{more} of {frameworks.FRAMEWORKS[name].title}", checks


def tpu_rows(choice: RehearsalChoice) -> Iterator[Row]:
    """Yield the TPUs, each with a box."""
    yield Row(None, group_heading("TPUs") + ", with the memory of a device")
    for topology in TOPOLOGIES:
        devices = phrases.choose_plural(topology.devices, "device ", "devices")
        size = f"{topology.devices:>3} {devices} {topology.hbm_gib_per_device:>6.2f} GiB"
        yield _box_row(
            topology.name, f"{topology.name:<8}{size}", chosen=topology.name in choice.tpus
        )


def describe_program_or_tpu(choice: RehearsalChoice, name: str) -> Iterator[LaidOutLines]:
    """Yield the description of a program or a TPU."""
    if name in OWN:
        _, example, how = OWN[name]
        yield HangingText("type     ", how)
        yield HangingText("example  ", example)
    if program := choice.program(name):
        yield from _about_own(program)
    for check in choice.checks:
        if check.id == name:
            if example := EXAMPLES.get(name):
                yield HangingText("program  ", example)
            yield HangingText("claim    ", style_sentence(check.title))
            yield HangingText("lesson   ", f"{escape_text(check.lesson)} (l)")
            yield HangingText("command  ", f"tpustarter rehearse {escape_text(name)}")
    for topology in TOPOLOGIES:
        if topology.name == name:
            each = " each" if topology.devices > 1 else ""
            memory = f"{topology.devices}, with {topology.hbm_gib_per_device:.2f} GiB{each}"
            yield HangingText("TPU      ", _describe_tpu(parse_type(name)))
            yield HangingText("devices  ", memory)
            if choice.has_every_generation and name in choice.tpus:
                yield HangingText("chosen   ", WHY_CHOSEN)
            if words := _chosen_words(choice):
                yield HangingText("command  ", escape_text(_command([*words, "--tpu", name])))


def _describe_tpu(tpu: TpuType) -> str:
    chips = phrases.format_count(tpu.chips, "chip")
    hosts = phrases.format_count(tpu.hosts, "host")
    return f"{tpu.generation.title}, {chips} on {hosts}"


def _about_own(program: TypedProgram) -> Iterator[LaidOutLines]:
    if program.kind == SCRIPT:
        yield HangingText(
            "does     ", "runs the script on CPU devices, and compiles what it passes to jax.jit"
        )
    else:
        each = f", with one {program.dimension} after the other" if program.dimension else ""
        yield HangingText("does     ", f"compiles the function{each}, and runs nothing")
    for source in program.sources:
        yield HangingText("from     ", style_sentence(source))
    if program.needs_shapes:
        yield HangingText("shapes   ", "as shown; e changes them")
    elif program.kind == SCRIPT:
        given = "as shown" if len(program.words) > 1 else "none"
        yield HangingText("given    ", f"{given}; e changes its arguments")
    yield HangingText("command  ", escape_text(_command(_own_words(program))))


def _own_words(program: TypedProgram) -> list[str]:
    """Return the arguments of a command for a program of the user's."""
    if program.kind == SCRIPT:
        return ["--script", *program.words]
    given = [word for one in program.arguments for word in ("--arg", one)]
    return [program.words[0], *given, *([FIT, program.dimension] if program.dimension else [])]


def _chosen_words(choice: RehearsalChoice) -> list[str]:
    """Return the command's arguments for the choice, or none if it is empty or too long."""
    if choice.own:
        return _own_words(choice.own)
    return choice.chosen_checks if len(choice.chosen_checks) <= MOST_NAMED else []


def _command(words: Sequence[str]) -> str:
    return format_commands(shlex.join(["tpustarter", "rehearse", *words]))


def _box_row(name: str, text: str, claim: str = "", *, chosen: bool) -> Row:
    return Row(name, _box(text, chosen=chosen) + style_sentence(claim).stylize("$muted"))


def _box(text: str, *, chosen: bool) -> Content:
    box = status_word("done", "[x]") if chosen else Content("[ ]")
    return box + f" {escape_text(text)}"
