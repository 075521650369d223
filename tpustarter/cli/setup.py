"""`tpustarter setup`: shows an environment's set-up plan, carries it out, or undoes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tpustarter.cli.command_end import (
    format_explain_command,
    print_errors_as_json,
    print_result,
    stop_at_signals,
)
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.setup.environment.environment_setup import EnvironmentSetup
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES
from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.machine.machine_setup import MachineSetup
from tpustarter.setup.machine.step_values import parse_set_options
from tpustarter.setup.setup_plan import SCHEMA, Event, SetupPlan, StepEnded, StepOutput, StepStarted
from tpustarter.text import phrases
from tpustarter.text.terminal import choose_paint, escape_text, wrap

_INDENT = " " * 8
_WORDS = {"failed": "FAIL", "blocked": "BLOCKED", "running": "run", "manual": "yours"}
_COLOURS = {"done": "green", "failed": "red", "blocked": "magenta", "running": "cyan"}


_PROFILES = "\n".join(
    f"  {one.name:<12} {one.meaning}" + " [default]" * (one.name == "jax")
    for one in (*PROFILES.values(), *MACHINE.values())
)
_FOLDERS = ", ".join(f"~/{one.folder}" for one in PROFILES.values())
_HELP = f"""Make an environment for one purpose, or set up the machine, and prove that it works.

\b
PROFILE is one of:
{_PROFILES}

You see the plan first, with the reason for every command and what it changes. A run skips the steps
that are done, so after an interruption it continues where it stopped. From
`{next(iter(MACHINE))}` on they change the machine: what needs administrator rights there is run
only with --root.
"""


@click.command(
    cls=StrictCommand,
    help=_HELP,
    short_help="Make an environment or set up the machine, and prove it.",
    epilog="Example: tpustarter setup jax --yes",
)
@click.argument("profile", default="jax")
@click.option("--yes", is_flag=True, help="Run the plan. Without this option, it is only shown.")
@click.option("--dry-run", is_flag=True, help="Only show the plan, even with --yes.")
@click.option(
    "--undo", is_flag=True, help="Show what would be removed or put back; with --yes, do it."
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help=f"The folder of the environment.  [default: {_FOLDERS}]",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="What the plan is to be filled with, such as bucket=my-bucket. Repeatable.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="STEP",
    help="Only this step of the plan, and those that have to come before it. Repeatable.",
)
@click.option("--root", is_flag=True, help="Let --yes run the steps that need root, as root.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def setup(
    *,
    profile: str,
    yes: bool,
    dry_run: bool,
    undo: bool,
    folder: Path | None,
    values: tuple[str, ...],
    only: tuple[str, ...],
    root: bool,
    as_json: bool,
) -> None:
    """Show a plan, carry it out, or undo its changes."""
    with print_errors_as_json(SCHEMA, wanted=as_json):
        plan = _plan(profile.lower(), folder, values, only, root=root)
        command = _format_command(plan, folder, values, only)
        for text in _list_texts(plan, command, undo=undo, runs=yes and not dry_run):
            if text and not as_json:
                echo_lines(text)
        if as_json:
            print_result(plan.fields())
    if plan.exit_code:
        reason = _explain_exit(plan, command + " --undo" * undo)
        click.echo(f"exit {plan.exit_code}: {reason}", err=True)
    sys.exit(plan.exit_code)


def _list_texts(plan: SetupPlan, command: str, *, undo: bool, runs: bool) -> Iterator[str]:
    """Yield the texts to print: a run's as it proceeds, a plan's all at once."""
    if runs:
        yield from _run(plan, command, undo=undo)
    else:
        yield "\n".join((_describe_undo if undo else _describe_plan)(plan, command))


def _plan(
    name: str, folder: Path | None, values: tuple[str, ...], only: tuple[str, ...], *, root: bool
) -> SetupPlan:
    """Return the plan; raises Problem for options that it would ignore."""
    given = {"--folder": folder} if name in MACHINE else {"--set": values, "--only": only}
    if unheeded := [option for option, value in given.items() if value]:
        raise Problem(
            f"`tpustarter setup {name}` does not take `{unheeded[0]}`",
            hint=f"leave `{unheeded[0]}` out",
            code=ExitCode.USAGE,
        )
    if name in MACHINE:
        return MachineSetup(name, root=root, values=parse_set_options(values), only=only)
    if folder:
        folder = locations.expand_path(folder)
        if folder.exists() and not folder.is_dir():
            raise Problem(
                f"`{folder}` is not a folder, expected one that is empty or does not exist",
                hint="name another folder with `--folder PATH`",
                code=ExitCode.USAGE,
            )
    return EnvironmentSetup(name, folder=folder)


def _format_command(
    plan: SetupPlan, folder: Path | None, values: tuple[str, ...], only: tuple[str, ...]
) -> str:
    words = [f"--folder {plan.format_command((str(plan.folder),))}"] if folder else []
    words += [f"--set {plan.format_command((word,))}" for word in values]
    words += [f"--only {plan.format_command((word,))}" for word in only]
    return " ".join(["tpustarter", "setup", plan.profile.name, *words])


def _describe_plan(plan: SetupPlan, command: str) -> Iterator[str]:
    packages = " with ".join(plan.profile.packages)
    goal = f"to install {packages} in {plan.shorten_path(plan.folder)}"
    if isinstance(plan, MachineSetup):
        goal = "to change this machine" + ", some of it as root" * plan.needs_root()
    yield from wrap(f"This is the plan {goal}. Nothing was run.")
    if isinstance(plan, EnvironmentSetup) and plan.kernel_note:
        yield ""
        yield from wrap(escape_text(plan.kernel_note))
    for step in plan.steps:
        yield ""
        yield from _describe_step(step, plan)
    yield ""
    if isinstance(plan, MachineSetup):
        yield from _describe_machine(plan, command)
    elif all(step.state == "done" for step in plan.steps):
        yield f"Everything is done. Next: tpustarter {plan.profile.next_command}"
    elif blocked := [step for step in plan.steps if step.state == "blocked"]:
        yield f"Blocked at `{blocked[0].id}`. Once that is settled: {command}"
    else:
        yield f"To run the steps that are left: {command} --yes"


def _describe_machine(plan: MachineSetup, command: str) -> Iterator[str]:
    blocked = [step for step in plan.steps if step.state == "blocked"]
    is_left = any(step.state == "todo" for step in plan.steps)
    for one in plan.missing_values:
        yield from wrap(escape_text(f"{one.placeholder} is {one.meaning}."))
    if is_left and plan.missing_values:
        values = "".join(f" --set {one.name}={one.placeholder}" for one in plan.missing_values)
        yield f"To see the plan with yours: {command}{values}"
    elif is_left:
        extra = " --root" * plan.needs_root()
        yield f"To run what is left{', some of it as root' * bool(extra)}: {command} --yes{extra}"
    elif blocked and not any(step.state == "done" for step in plan.steps):
        yield f"Nothing of it can be done on this machine; `{blocked[0].id}` says why."
        yield _mention_lesson(plan)
    else:
        what = "What you asked for is" if plan.only else "Everything that can be done here is"
        cannot = f"; {len(blocked)} cannot" * bool(blocked)
        yield f"{what} done{cannot}."
        yield from _mention_other_steps(plan)
        if not plan.only:
            yield _mention_lesson(plan)


def _mention_lesson(plan: MachineSetup) -> str:
    return f"To read what it is for: tpustarter learn {plan.lesson.id}"


def _mention_other_steps(plan: MachineSetup) -> Iterator[str]:
    if plan.only:
        yield f"To see the other steps: tpustarter setup {plan.profile.name}"


def _describe_step(step: SetupStep, plan: SetupPlan) -> Iterator[str]:
    yield from _format_row(step, escape_text(step.title), plan)
    yield from _format_note(step)
    if step.state == "done":
        return
    details = {"why": step.why, "changes": step.changes, "needs": ", ".join(step.needs)}
    for name, text in details.items():
        if text not in ("", "nothing"):
            hang = _INDENT + " " * 9
            yield from wrap(escape_text(text), f"{_INDENT}{name:<9}", hang)
    yield from _describe_command(step, plan)


def _describe_command(step: SetupStep, plan: SetupPlan) -> Iterator[str]:
    if step.file:
        yield f"{_INDENT}file     {escape_text(plan.shorten_path(Path(step.file)))}"
        yield from (f"{_INDENT}| {escape_text(line)}" for line in step.writes)
    elif step.command:
        yield f"{_INDENT}$ {escape_text(plan.format_command(step.command))}"


def _describe_undo(plan: SetupPlan, command: str) -> Iterator[str]:
    removed = plan.removed_by_undo()
    is_machine = isinstance(plan, MachineSetup)
    what = "taken back" if is_machine else "removed"
    yield f"This would be {what}. Nothing has been changed."
    yield ""
    for line in "\n".join(removed).splitlines():  # a line that begins with a space is a command
        if line.startswith(" "):
            yield f"  {escape_text(line)}"
        else:
            yield from wrap(escape_text(line), "  ", "  ")
    yield ""
    if isinstance(plan, MachineSetup):
        extra = " --root" * plan.needs_root(undo=True)
        how = ", some of it as root" * bool(extra)
        yield f"To take it back{how}: {command} --undo --yes{extra}"
    else:
        yield f"To remove it: {command} --undo --yes"


def _run(plan: SetupPlan, command: str, *, undo: bool) -> Iterator[str]:
    """Run the plan, or undo it, and yield the text for each event as it happens."""
    events = plan.undo() if undo else plan.run()
    with stop_at_signals(lambda _: plan.stop()):
        for event in events:
            yield "\n".join(_describe_event(event, plan))
    if plan.exit_code:
        return
    if isinstance(plan, MachineSetup):
        yours = [step for step in plan.steps if step.state == "manual" and not undo]
        done = "What you asked for is done" if plan.only else "Everything is done"
        done += " on this machine. The rest is for you to do" * bool(yours)
        yield f"\n{'It is as it was before' if undo else done}."
        yield from _mention_other_steps(plan)
        if undo:
            yield f"To set it up again: {command} --yes{' --root' * plan.needs_root()}"
        elif not (plan.only or yours):
            yield _mention_lesson(plan)
        for step in yours:
            yield "\n" + "\n".join(_describe_step(step, plan))
        return
    folder = plan.shorten_path(plan.folder)
    if undo:
        yield f"\n{folder} is gone.\nTo make it again: {command} --yes"
        return
    yield f"\n{folder} is ready. Next: tpustarter {plan.profile.next_command}"
    if plan.profile.command == "check" and not plan.profile.first_command:
        yield "To go on with your lessons, which use it: tpustarter learn"
    if plan.profile.activated:
        activate = str(plan.folder / "bin/activate")
        yield f"To use it in this shell: {plan.format_command(('source', activate))}"


def _describe_event(event: Event, plan: SetupPlan) -> Iterator[str]:
    if isinstance(event, StepOutput):
        yield from wrap(escape_text(event.text)[:400], f"{_INDENT}| ", f"{_INDENT}|   ")
    elif isinstance(event, StepStarted):
        yield from _format_row(event.step, escape_text(event.step.title), plan)
        yield from _describe_command(event.step, plan)
    else:
        yield from _describe_end(event, plan)


def _describe_end(event: StepEnded, plan: SetupPlan) -> Iterator[str]:
    """Yield a step's result; a failed step's last log lines were printed before."""
    step = event.step
    seconds = f"{event.seconds:.1f} s" if event.seconds >= 0.05 else ""
    yield from _format_row(step, seconds, plan)
    yield from _format_note(step)
    if step.state == "failed":
        yield f"{_INDENT}log  {escape_text(plan.shorten_path(event.log))}"
        yield f"{_INDENT}why  {format_explain_command([event.log])}"


def _format_row(step: SetupStep, text: str, plan: SetupPlan) -> Iterator[str]:
    status = f"{_WORDS.get(step.state, step.state):<8}"
    name = f"{step.id:<{max(12, *(len(one.id) for one in plan.steps))}} "
    indent = " " * len(status + name)
    first, *others = wrap(text, indent) or [indent]
    yield f"{choose_paint(_COLOURS)(status, step.state)}{name}{first[len(indent) :]}".rstrip()
    yield from others


def _format_note(step: SetupStep) -> Iterator[str]:
    """Yield a step's note; a line that begins with a space is a command and is not wrapped."""
    for line in step.note.splitlines():
        if line.startswith(" "):
            yield _INDENT + escape_text(line)
        else:
            yield from wrap(escape_text(line), _INDENT, _INDENT)


def _explain_exit(plan: SetupPlan, command: str) -> str:
    unfinished = [step for step in plan.steps if step.state not in ("done", "undone", "manual")]
    if not unfinished:
        return f"stopped before all of it was taken back. Next: `{command} --yes --root`"
    step = next(
        (step for end in ("failed", "blocked") for step in unfinished if step.state == end),
        unfinished[0],
    )
    is_for_root = isinstance(plan, MachineSetup) and any("root" in one.needs for one in unfinished)
    following = "When that is settled" if step.state == "blocked" else "Next"
    reason = f"{step.id}: {(step.note or 'not run').splitlines()[0]}"
    kept = sum(one.state == "done" for one in plan.steps)
    if step.state == "todo" and kept:
        reason = reason.removesuffix("; run this again to go on")
        steps = phrases.format_count(kept, "step that is done is", "steps that are done are")
        reason += f", and the {steps} kept"
    return escape_text(f"{reason}. {following}: `{command} --yes{' --root' * is_for_root}`")
