"""`tpustarter setup`: show how an environment is made, make it, or undo it."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from tpustarter import interpreters
from tpustarter.cli.endings import json_even_if_it_breaks, stopped_by_signals
from tpustarter.report.text import WIDTH, visible
from tpustarter.setup import SCHEMA, Event, Setup, StepEnded, StepOutput, StepStarted
from tpustarter.steps import Step

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
    help="Where the environment is made.  [default: ~/tpu]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def setup(
    *, profile: str, yes: bool, dry_run: bool, undo: bool, folder: Path | None, as_json: bool
) -> None:
    """Make an environment with the newest JAX, and prove that it computes.

    PROFILE is jax. The plan is shown first: every command with its reason and what it changes.
    What is done already is not done again, so that an interrupted run goes on where it was.
    Administrator rights are never used.
    """
    with json_even_if_it_breaks(SCHEMA, wanted=as_json):
        plan = Setup(profile.lower(), folder=folder.expanduser() if folder else None)
        again = f"tpustarter setup {plan.profile}"
        again += f" --folder {_words((str(plan.folder),))}" if folder else ""
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
            from tpustarter.report import document

            click.echo(document.line(plan.fields()))
    if plan.exit_code:
        click.echo(f"exit {plan.exit_code}: {_why(plan)}; next: `{again} --yes`", err=True)
    sys.exit(plan.exit_code)


def _plan(plan: Setup, again: str) -> Iterator[str]:
    """Yield the plan, and the one command that comes next."""
    yield from _wrap(f"How {plan.profile} gets into {_shown(plan.folder)}. Nothing was run.")
    for step in plan.steps:
        yield ""
        yield from _step(step)
    yield ""
    if all(step.state == "done" for step in plan.steps):
        yield "Everything is done. Next: tpustarter check"
    elif blocked := [step for step in plan.steps if step.state == "blocked"]:
        yield f"Blocked at `{blocked[0].id}`. When that is settled: {again}"
    else:
        yield f"To run what is left: {again} --yes"


def _step(step: Step) -> Iterator[str]:
    """Yield one step of the plan; of what is done, how one can tell."""
    yield _row(step, visible(step.title))
    yield from _note(step)
    if step.state == "done":
        return
    told_of = {"why": step.why, "changes": step.changes, "needs": ", ".join(step.needs)}
    for name, told in told_of.items():
        if told not in ("", "nothing"):
            hang = _INDENT + " " * 9
            yield from _wrap(visible(told), f"{_INDENT}{name:<9}", hang)
    if step.command:
        yield f"{_INDENT}$ {visible(_words(step.command))}"


def _undo_plan(plan: Setup, again: str) -> Iterator[str]:
    """Yield what would be removed; raises Problem where that is refused."""
    removed = plan.removed_by_undo()
    yield "This would be removed. Nothing was changed."
    yield ""
    for told in removed:
        yield from _wrap(visible(told), "  ", "  ")
    yield ""
    yield f"To remove it: {again} --undo --yes"


def _run(plan: Setup, again: str, *, undo: bool) -> Iterator[str]:
    """Carry the plan out, or undo it; yields what happens as it happens."""
    events = plan.undo() if undo else plan.run()
    with stopped_by_signals(lambda _: plan.stop()):
        for event in events:
            yield from _event(event)
    if plan.exit_code == 0:
        yield ""
        shown = _shown(plan.folder)
        yield f"{shown} is gone." if undo else f"{shown} is ready. Next: tpustarter check"
        if not undo:
            yield f"To use it in this shell: source {shown}/bin/activate"
        else:
            yield f"To make it again: {again} --yes"


def _event(event: Event) -> Iterator[str]:
    if isinstance(event, StepOutput):
        yield from _wrap(visible(event.text)[:400], f"{_INDENT}| ", f"{_INDENT}|   ")
    elif isinstance(event, StepStarted):
        yield _row(event.step, visible(event.step.title))
        if event.step.command:
            yield f"{_INDENT}$ {visible(_words(event.step.command))}"
    else:
        yield from _ended(event)


def _ended(event: StepEnded) -> Iterator[str]:
    """Yield how a step ended; a failed one ends with its log, its last lines stand above."""
    step = event.step
    yield _row(step, f"{event.seconds:.1f} s" if event.seconds >= 0.05 else "")
    yield from _note(step)
    if step.state == "failed":
        yield f"{_INDENT}log  {visible(_shown(event.log))}"


def _row(step: Step, told: str) -> str:
    word = f"{_WORDS.get(step.state, step.state):<8}"
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and step.state in _COLOURS:
        word = click.style(word, fg=_COLOURS[step.state])
    return f"{word}{step.id:<12} {told}".rstrip()


def _note(step: Step) -> Iterator[str]:
    """Yield a step's note; a line that begins with blanks is a command, and stays one line."""
    for line in step.note.splitlines():
        if line.startswith(" "):
            yield _INDENT + visible(line)
        else:
            yield from _wrap(visible(line), _INDENT, _INDENT)


def _why(plan: Setup) -> str:
    """Return which step did not end well, and why, in one line."""
    step = next(one for one in plan.steps if one.state not in ("done", "undone"))
    return visible(f"{step.id}: {(step.note or 'not run').splitlines()[0]}")


def _words(command: tuple[str, ...]) -> str:
    """Return a command as it can be pasted into a shell, the home folder as `~`."""
    shown = (_shown(Path(word)) if word.startswith("/") else word for word in command)
    quoted = (f"~/{shlex.quote(word[2:])}" if word.startswith("~/") else shlex.quote(word)
              for word in shown)  # fmt: skip
    return " ".join(quoted)


def _shown(path: Path) -> str:
    return interpreters.shown(path, os.environ, Path(os.devnull))


def _wrap(told: str, first: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(
        told,
        WIDTH,
        initial_indent=first,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
