"""A step of a set-up to be read: its row with what it does, and all that is to be known of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from textual.content import Content

from tpustarter.invocation import as_typed
from tpustarter.setup.run import Setup, StepEnded
from tpustarter.setup.steps import Step
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, Lines, prose, sentences, word
from tpustarter.tui.step_list import StepList
from tpustarter.tui.widgets import Row

STYLES = {"done": "pass", "running": "run", "failed": "fail", "blocked": "warn", "todo": "wait"}
WORDS = {"manual": "yours"}
"""States that are called otherwise on the screen."""
SHOWN_LINES = 4
"""Lines of a file that stand in the list; the details have all of them."""
_BESIDE = " " * 8


def row(setup: Setup, step: Step, steps: StepList) -> Row:
    """Return the row of a step, with what it does below it."""
    ended = steps.ended.get(step.id)
    state = "running" if step.id == steps.running else step.state
    said = WORDS.get(state, state)
    label = word(STYLES.get(state, ""), said, 8) + prose(as_typed(step.title)).stylize("bold")
    # Of what is done already nothing will be run.
    below = tuple(doing(setup, step)) if ended or state != "done" else ()
    has_run = ended is not None and ended.step.state != "blocked"
    seconds = f"{ended.seconds:.0f} s" if ended and has_run else ""
    return Row(step.id, label, seconds, below, hang=8)


def doing(setup: Setup, step: Step) -> Iterator[Lines]:
    """Yield what a step does: the lines that it writes, or else its command."""
    if not step.file:
        if step.command:
            yield Hanging(_BESIDE, visible(setup.pasted(step.command)))
        return
    yield Hanging(f"{_BESIDE}to ", visible(setup.short(Path(step.file))))
    count = len(step.writes)
    shown = step.writes if count <= SHOWN_LINES + 1 else step.writes[:SHOWN_LINES]
    yield from (Hanging(f"{_BESIDE}| ", visible(line)) for line in shown)
    if len(shown) < count:
        yield Hanging(_BESIDE, f"and {count - len(shown)} more lines, which the details show")


def details(
    setup: Setup, step: Step, ended: StepEnded | None, *, with_command: bool
) -> Iterator[Lines | Content]:
    """Yield how a step ended, what it runs or writes, its reason, and what it changes and needs.

    Args:
        setup: The plan.
        step: One of its steps.
        ended: How that has ended; None where it did not run.
        with_command: Whether its command is to be said, which the list has as well.
    """
    if step.note:
        yield sentences(step.note)
    if ended and ended.tail:
        yield Content.styled("its last lines:", "$muted")
        yield from (Hanging("| ", visible(line)) for line in ended.tail)
    command = visible(setup.pasted(step.command))
    if with_command and command and not step.file and step.state != "done":
        yield Hanging(_label("command"), command)
    facts = [("why", step.why), ("changes", step.changes), ("needs", ", ".join(step.needs))]
    if step.proof:
        facts.append(("proof", f"the check {step.proof}"))
    yield from (Hanging(_label(name), prose(text)) for name, text in facts if text)
    yield Hanging(_label("read"), f"{setup.lesson.id} (l)")
    if step.file:
        yield Hanging(_label("writes"), f"to {visible(setup.short(Path(step.file)))}:")
        yield from (Hanging("| ", visible(line)) for line in step.writes)
        if command:
            yield Hanging(_label("command"), command)


def others(
    setup: Setup, steps: Sequence[Step], marked: Step, *, with_reasons: bool
) -> Iterator[Lines | Content]:
    """Yield what else the key runs that runs all that is left, step by step.

    Args:
        setup: The plan.
        steps: What is left.
        marked: The step of which the details are.
        with_reasons: Whether there is room for why each is there, and what it needs.
    """
    rest = [step for step in steps if step.id != marked.id]
    too = " as well" if marked in steps else ""
    for number, step in enumerate(rest):
        if with_reasons or not number:
            yield Content("")
        if not number:
            yield prose(f"Press y, and these steps run{too}:")
        yield Hanging("  ", prose(as_typed(step.title)).stylize("bold"))
        yield from [*doing(setup, step)] or [Hanging(_BESIDE, prose(step.changes))]
        for text in (step.why, ", ".join(step.needs)) if with_reasons else ():
            if text:
                yield Hanging(_BESIDE, prose(text).stylize("$muted"))


def _label(name: str) -> Content:
    return Content.styled(f"{name:<8} ", "$label")
