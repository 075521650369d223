"""`tpustarter setup`: show how an environment is made, make it, or undo it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tpustarter.cli.endings import json_even_if_it_breaks, stopped_by_signals
from tpustarter.setup.run import SCHEMA, Event, Setup, StepEnded, StepOutput, StepStarted
from tpustarter.setup.steps import Step
from tpustarter.terminal import paint_for, visible, wrap

_INDENT = " " * 8
_WORDS = {"failed": "FAIL", "blocked": "BLOCKED", "running": "run"}
_COLOURS = {"done": "green", "failed": "red", "blocked": "magenta", "running": "cyan"}


@click.command(epilog="Example: tpustarter setup jax --yes")
@click.argument("profile", default="jax")
@click.option("--yes", is_flag=True, help="Run the plan; without it nothing is run.")
@click.option("--dry-run", is_flag=True, help="Show the plan and run nothing, also with --yes.")
@click.option("--undo", is_flag=True, help="Show what would be removed; with --yes remove it.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where the environment is made.  [default: ~/tpu, or ~/tpu-rehearse]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def setup(
    *, profile: str, yes: bool, dry_run: bool, undo: bool, folder: Path | None, as_json: bool
) -> None:
    """Make an environment with the newest JAX, and prove that it works.

    \b
    PROFILE is one of:
      jax       the newest JAX, for checks, lessons and your programs [default]
      rehearse  the TPU compiler, for `tpustarter rehearse`

    The plan is shown first: every command with its reason and what it changes.
    What is done already is not done again, so that an interrupted run goes on where it was.
    Administrator rights are never used.
    """  # noqa: D301  click looks for the character itself
    with json_even_if_it_breaks(SCHEMA, wanted=as_json):
        # os.path leaves `~name` as it is where pathlib raises for a user that is not there.
        named = Path(os.path.expanduser(folder)) if folder else None  # noqa: PTH111
        plan = Setup(profile.lower(), folder=named)
        again = f"tpustarter setup {plan.profile.name}"
        again += f" --folder {plan.pasted((str(plan.folder),))}" if folder else ""
        carried_out = yes and not dry_run
        if undo and not carried_out:
            told = _undo_plan(plan, again)
        elif not carried_out:
            told = _plan(plan, again)
        else:
            told = _run(plan, again, undo=undo)
        for line in told:
            if not as_json:
                click.echo(line)
        if as_json:
            from tpustarter.checking import document

            click.echo(document.line(plan.fields()))
    if plan.exit_code:
        click.echo(f"exit {plan.exit_code}: {_why(plan, again)}", err=True)
    sys.exit(plan.exit_code)


def _plan(plan: Setup, again: str) -> Iterator[str]:
    """Yield the plan, and the one command that comes next."""
    what = " with ".join(plan.profile.packages)
    yield from wrap(f"How {what} gets into {plan.short(plan.folder)}. Nothing was run.")
    for step in plan.steps:
        yield ""
        yield from _step(step, plan)
    yield ""
    if all(step.state == "done" for step in plan.steps):
        yield f"Everything is done. Next: tpustarter {plan.profile.command}"
    elif blocked := [step for step in plan.steps if step.state == "blocked"]:
        yield f"Blocked at `{blocked[0].id}`. When that is settled: {again}"
    else:
        yield f"To run what is left: {again} --yes"


def _step(step: Step, plan: Setup) -> Iterator[str]:
    """Yield one step of the plan; of what is done, how one can tell."""
    yield _row(step, visible(step.title))
    yield from _note(step)
    if step.state == "done":
        return
    told_of = {"why": step.why, "changes": step.changes, "needs": ", ".join(step.needs)}
    for name, told in told_of.items():
        if told not in ("", "nothing"):
            hang = _INDENT + " " * 9
            yield from wrap(visible(told), f"{_INDENT}{name:<9}", hang)
    if step.command:
        yield f"{_INDENT}$ {visible(plan.pasted(step.command))}"


def _undo_plan(plan: Setup, again: str) -> Iterator[str]:
    """Yield what would be removed; raises Problem where that is refused."""
    removed = plan.removed_by_undo()
    yield "This would be removed. Nothing was changed."
    yield ""
    for told in removed:
        yield from wrap(visible(told), "  ", "  ")
    yield ""
    yield f"To remove it: {again} --undo --yes"


def _run(plan: Setup, again: str, *, undo: bool) -> Iterator[str]:
    """Carry the plan out, or undo it; yields what happens as it happens."""
    events = plan.undo() if undo else plan.run()
    with stopped_by_signals(lambda _: plan.stop()):
        for event in events:
            yield from _event(event, plan)
    if plan.exit_code:
        return
    shown = plan.short(plan.folder)
    yield ""
    if undo:
        yield f"{shown} is gone."
        yield f"To make it again: {again} --yes"
        return
    yield f"{shown} is ready. Next: tpustarter {plan.profile.command}"
    if plan.profile.activated:
        activate = str(plan.folder / "bin/activate")
        yield f"To use it in this shell: {plan.pasted(('source', activate))}"


def _event(event: Event, plan: Setup) -> Iterator[str]:
    if isinstance(event, StepOutput):
        yield from wrap(visible(event.text)[:400], f"{_INDENT}| ", f"{_INDENT}|   ")
    elif isinstance(event, StepStarted):
        yield _row(event.step, visible(event.step.title))
        if event.step.command:
            yield f"{_INDENT}$ {visible(plan.pasted(event.step.command))}"
    else:
        yield from _ended(event, plan)


def _ended(event: StepEnded, plan: Setup) -> Iterator[str]:
    """Yield how a step ended; a failed one ends with its log, its last lines stand above."""
    step = event.step
    yield _row(step, f"{event.seconds:.1f} s" if event.seconds >= 0.05 else "")
    yield from _note(step)
    if step.state == "failed":
        yield f"{_INDENT}log  {visible(plan.short(event.log))}"


def _row(step: Step, told: str) -> str:
    word = paint_for(_COLOURS)(f"{_WORDS.get(step.state, step.state):<8}", step.state)
    return f"{word}{step.id:<12} {told}".rstrip()


def _note(step: Step) -> Iterator[str]:
    """Yield a step's note; a line that begins with blanks is a command, and stays one line."""
    for line in step.note.splitlines():
        if line.startswith(" "):
            yield _INDENT + visible(line)
        else:
            yield from wrap(visible(line), _INDENT, _INDENT)


def _why(plan: Setup, again: str) -> str:
    """Return which step did not end well, why, and what comes next, in one line."""
    left = [one for one in plan.steps if one.state not in ("done", "undone")]
    step = next((one for one in left if one.state in ("failed", "blocked")), left[0])
    following = "when that is settled" if step.state == "blocked" else "next"
    told = f"{step.id}: {(step.note or 'not run').splitlines()[0]}"
    return visible(f"{told}; {following}: `{again} --yes`")
