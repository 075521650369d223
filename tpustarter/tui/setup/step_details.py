"""The row and the details of a set-up step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from textual.content import Content

from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.setup_plan import SetupPlan, StepEnded
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    status_word,
    style_lines,
    style_sentence,
)
from tpustarter.tui.setup.step_run_state import StepRunState

STYLES = {"done": "pass", "running": "run", "failed": "fail", "blocked": "warn", "todo": "wait"}
WORDS = {"manual": "yours"}
"""The screen's own words for some states."""
SHOWN_LINES = 4
"""Number of a file's lines shown in the list; the details show all of them."""
_BESIDE = " " * 8


def make_step_row(setup: SetupPlan, step: SetupStep, steps: StepRunState) -> Row:
    """Return a step's row, with its command or file below it."""
    ended = steps.ended.get(step.id)
    state = "running" if step.id == steps.running else step.state
    said = WORDS.get(state, state)
    label = status_word(STYLES.get(state, ""), said, 8) + style_sentence(
        format_commands(step.title)
    ).stylize("bold")
    # The commands of a step that is done will not run.
    below = tuple(describe_actions(setup, step)) if ended or state != "done" else ()
    has_run = ended is not None and ended.step.state != "blocked"
    seconds = f"{ended.seconds:.0f} s" if ended and has_run else ""
    return Row(step.id, label, seconds, below, hang=8)


def describe_actions(setup: SetupPlan, step: SetupStep) -> Iterator[LaidOutLines]:
    """Yield the lines that a step writes to a file, or else its command."""
    if not step.file:
        if step.command:
            yield HangingText(_BESIDE, escape_text(setup.format_command(step.command)))
        return
    yield HangingText(f"{_BESIDE}to ", escape_text(setup.shorten_path(Path(step.file))))
    count = len(step.writes)
    shown = step.writes if count <= SHOWN_LINES + 1 else step.writes[:SHOWN_LINES]
    yield from (HangingText(f"{_BESIDE}| ", escape_text(line)) for line in shown)
    if len(shown) < count:
        yield HangingText(_BESIDE, f"and {count - len(shown)} more lines, which the details show")


def describe_step(
    setup: SetupPlan, step: SetupStep, ended: StepEnded | None, *, with_command: bool
) -> Iterator[LaidOutLines | Content]:
    """Yield a step's result, command or file, reason, changes and needs.

    Args:
        setup: The plan.
        step: One of the plan's steps.
        ended: The step's result, or None if it has not run.
        with_command: Whether to include the command, which the list shows as well.
    """
    if step.note:
        yield style_lines(step.note)
    if ended and ended.tail:
        yield Content.styled("its last lines:", "$muted")
        yield from (HangingText("| ", escape_text(line)) for line in ended.tail)
    command = escape_text(setup.format_command(step.command))
    if with_command and command and not step.file and step.state != "done":
        yield HangingText("command  ", command)
    facts = [("why", step.why), ("changes", step.changes), ("needs", ", ".join(step.needs))]
    if step.proof:
        facts.append(("proof", f"the check {step.proof}"))
    yield from (HangingText(f"{name:<8} ", style_sentence(text)) for name, text in facts if text)
    yield HangingText("read     ", f"{setup.lesson.id} (l)")
    if step.file:
        yield HangingText("writes   ", f"to {escape_text(setup.shorten_path(Path(step.file)))}:")
        yield from (HangingText("| ", escape_text(line)) for line in step.writes)
        if command:
            yield HangingText("command  ", command)


def describe_other_steps(
    setup: SetupPlan, steps: Sequence[SetupStep], shown: SetupStep, *, with_reasons: bool
) -> Iterator[LaidOutLines | Content]:
    """Yield the other steps that the key `y` runs, with their commands or files.

    Args:
        setup: The plan.
        steps: The remaining steps.
        shown: The step whose details are shown.
        with_reasons: Whether to include the reason and the needs of each step.
    """
    rest = [step for step in steps if step.id != shown.id]
    too = " as well" if shown in steps else ""
    for number, step in enumerate(rest):
        if with_reasons or not number:
            yield Content("")
        if not number:
            yield style_sentence(f"Press y, and these steps run{too}:")
        yield HangingText("  ", style_sentence(format_commands(step.title)).stylize("bold"))
        yield from [*describe_actions(setup, step)] or [
            HangingText(_BESIDE, style_sentence(step.changes))
        ]
        for text in (step.why, ", ".join(step.needs)) if with_reasons else ():
            if text:
                yield HangingText(_BESIDE, style_sentence(text).stylize("$muted"))
