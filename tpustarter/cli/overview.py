"""`tpustarter` without a command: this machine and the next commands, as plain text."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from tpustarter.checking.plan import framework_plan, interpreters
from tpustarter.checking.results import no_tpu_reason
from tpustarter.core.problem import Problem
from tpustarter.learning.content.paths import read_paths
from tpustarter.machine import host
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.text.invocation import tpustarter_command
from tpustarter.text.terminal import escape_text, line_width, wrap

_NEXT = (
    ("check", "prove what works here"),
    ("learn", "your path through the lessons"),
    ("learn -v", "every lesson, and the other paths"),
    ("rehearse", "compile for a TPU that is not here"),
    ("--help", "every command"),
)

_LEAST_BESIDE = 20
"""Fewest columns for which a description is printed on its command's line, not on the next."""
_NO_TUTOR = (
    "The tutor does not open, because TERM says that this terminal cannot move its cursor. All of "
    "it works as commands too, and these are the first ones."
)


def overview() -> None:
    """Print this machine, the Python that would be tested, and the next commands."""
    if sys.stdout.isatty() and os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        for line in wrap(_NO_TUTOR):
            click.echo(line)
        click.echo()
    machine = host.Machine()
    click.echo("This machine")
    try:
        chosen, others = interpreters.choose_interpreter(None, os.environ, Path.cwd())
        run_plan = framework_plan.make_plan(machine, gpu_plugin=chosen.has_gpu_plugin)
        frameworks = chosen.frameworks_text or "no framework yet"
        why = no_tpu_reason.explain_no_tpu(framework_plan.make_host_fields(run_plan, machine))
        instead = f"{why}; checks run on "
        on_tpu = run_plan.platform == "tpu"
        _say("Devices", f"{'' if on_tpu else instead}{run_plan.devices_text}")
        if service := find_notebook_service(os.environ):
            _say("Notebook", f"{service.name}'s, whose own Python comes with what fits its TPU")
        path = interpreters.format_path(chosen.path, os.environ, Path.cwd())
        _say("Python", f"{path} ({chosen.why}): {frameworks}")
        for interpreter in others:
            path = interpreters.format_path(interpreter.path, os.environ, Path.cwd())
            _say("also", f"{path}: {interpreter.frameworks_text}")
        if run_plan.blocked:
            _say("Note", run_plan.blocked.what)
    except Problem as problem:
        _say("Python", problem.full_text)
    path, following = _course()
    if path:
        click.echo("\nYour path\n" + "\n".join(wrap(path, "  ")))
    click.echo("\nNext")
    rows = [(f"  {tpustarter_command()} {typed}", does) for typed, does in [*following, *_NEXT]]
    width = max(len(typed) for typed, _ in rows) + 2
    is_beside = line_width() - width >= _LEAST_BESIDE
    for typed, does in rows:
        if is_beside:
            _echo(wrap(does, f"{typed:<{width}}", " " * width))
        else:
            _echo([typed, *wrap(does, "      ")])


def _say(label: str, text: str) -> None:
    _echo(wrap(text, f"  {label:<8} ", " " * 11))


def _echo(lines: list[str]) -> None:
    click.echo("\n".join(lines))


def _course() -> tuple[str, list[tuple[str, str]]]:
    """Return the learner's progress on their path, and the next lesson's command and title.

    Both are empty if the lessons cannot be read; `learn` reports the reason.
    """
    from tpustarter.cli.learn import next_step as learn_next_step
    from tpustarter.core import content
    from tpustarter.learning.progress import lesson_progress, path_progress, solved_exercises

    try:
        lessons = {lesson.id: lesson for lesson in content.read_lessons()}
        path = learn_next_step.find_learning_path(read_paths())
        if path is None:
            return "", []
        place = path_progress.find_path_progress(
            path, lessons, lesson_progress.list_done_lessons(), lesson_progress.list_read_lessons()
        )
    except Problem:
        return "", []
    on_path = [lessons[name] for name in place.whole.lessons]
    achieved = solved_exercises.describe_achievements(
        on_path, lesson_progress.read_progress().lessons
    )
    said = escape_text(". ".join(filter(None, (f"{path.title}: {place.whole.words}", achieved))))
    if place.next is None:
        return said, []
    lesson = lessons[place.next]
    minutes = lesson.header.get("minutes", "?")
    return said, [
        (f"learn {escape_text(lesson.id)}", escape_text(f"{lesson.title}, {minutes} min"))
    ]
