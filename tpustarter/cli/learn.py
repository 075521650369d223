"""`tpustarter learn`: list the lessons, print one, or run its blocks and judge what they print."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import click

from tpustarter import content
from tpustarter.checking.results import LEARN_SCHEMA
from tpustarter.cli.endings import json_even_if_it_breaks, stopped_by_signals
from tpustarter.content import Lesson, LessonPath
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import visible

# What reads and runs lessons is imported where it is used: every command loads this file.


@click.command(epilog="Example: tpustarter learn jax/precision --run")
@click.argument("lesson", required=False)
@click.option("--run", "running", is_flag=True, help="Run its blocks here, and judge them.")
@click.option("--all", "every", is_flag=True, help="Every lesson.")
@click.option("--python", metavar="PATH", help="The Python that runs the blocks.")
@click.option(
    "--devices",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Use N virtual CPU devices, even beside a TPU.",
)
@click.option(
    "--exercise",
    metavar="ID",
    is_flag=False,
    flag_value="",
    help="Work on an exercise: its file is yours to edit, and judged each time. "
    "Without an ID, list them.",
)
@click.option("--watch", is_flag=True, help="Judge the exercise whenever you save it.")
@click.option("--hint", is_flag=True, help="Show the exercise's next hint.")
@click.option("--solution", is_flag=True, help="Show the exercise's solution.")
@click.option("--reset", is_flag=True, help="Begin the exercise anew; your file is kept aside.")
@click.option("--search", metavar="TEXT", help="Show the lines of all lessons that hold TEXT.")
@click.option(
    "--old", metavar="TEXT", help="Look up what an older tutorial says, and what is true."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--plain", is_flag=True, hidden=True, help="Plain text; what is printed anyway.")
@click.option(
    "--notebook",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the lesson as a Jupyter notebook, which Colab opens too.",
)
@click.option("--which", is_flag=True, help="Say which lessons fit this machine, in order.")
@click.option("--export", is_flag=True, help="Print what you did so far, as JSON.")
@click.option(
    "--import",
    "exported",
    type=click.File(encoding="utf-8-sig"),
    metavar="FILE",
    help="Add what --export printed elsewhere; - reads stdin.",
)
@click.option("--lint", is_flag=True, help="Say what is wrong with the lessons.")
def learn(**given: Any) -> None:
    """List the lessons, or print one of them; with --run, run its blocks.

    A lesson runs only with --run: its blocks share one process of the Python that the first
    line of the output names.
    """
    asked = SimpleNamespace(**given)
    _refuse_mixtures(asked)
    if action := _alone(asked):
        action()
        return
    with json_even_if_it_breaks(LEARN_SCHEMA, wanted=asked.as_json):
        lessons = content.read_lessons()
        chosen = [_named(asked.lesson, lessons)] if asked.lesson else lessons
        if asked.notebook:
            _write_notebook(chosen[0], asked.notebook)
        elif asked.running:
            _run(chosen, as_json=asked.as_json, python=asked.python, devices=asked.devices)
        elif asked.as_json:
            _describe(chosen)
        elif asked.lesson or asked.every:
            _print(chosen)
        else:
            _list(lessons)


def _refuse_mixtures(asked: SimpleNamespace) -> None:
    if asked.lesson and asked.every:
        raise click.UsageError("name a lesson or give --all, not both")
    if asked.running and not (asked.lesson or asked.every):
        raise click.UsageError("--run needs a lesson, or --all")
    if asked.notebook and (not asked.lesson or asked.running or asked.as_json):
        raise click.UsageError("--notebook needs a lesson, and goes with nothing else")
    how = (asked.watch, asked.hint, asked.solution, asked.reset)
    if sum(how) > bool(asked.exercise):
        raise click.UsageError("one of --watch, --hint, --solution, --reset goes with --exercise")


def _alone(asked: SimpleNamespace) -> Callable[[], None] | None:
    """Return what to do for an option that goes alone; None where none was given."""
    alone: dict[str, tuple[bool, Callable[[], None]]] = {
        "--search": (asked.search is not None, lambda: _search(asked.search)),
        "--old": (asked.old is not None, lambda: _old(asked.old)),
        "--exercise": (asked.exercise is not None, lambda: _exercise(asked)),
        "--which": (asked.which, _which),
        "--export": (asked.export, _export),
        "--import": (asked.exported is not None, lambda: _import(asked.exported)),
        "--lint": (asked.lint, _lint),
    }
    actions = [action for is_wanted, action in alone.values() if is_wanted]
    with_json = asked.as_json and not asked.export  # which is JSON anyway
    others = (asked.running, asked.every, with_json, asked.lesson is not None)
    if actions and len(actions) + sum(others) > 1:
        *most, last = alone
        raise click.UsageError(f"{', '.join(most)} and {last} each go alone")
    return actions[0] if actions else None


def _exercise(asked: SimpleNamespace) -> None:
    from tpustarter.cli import exercise
    from tpustarter.learning import exercises

    lessons = content.read_lessons()
    if not asked.exercise:
        exercise.show_all(lessons)
        return
    exercise.work(
        exercises.find(lessons, asked.exercise),
        watch=asked.watch, hint=asked.hint, solution=asked.solution, reset=asked.reset,
        python=asked.python, devices=asked.devices,
    )  # fmt: skip


def _write_notebook(lesson: Lesson, file: Path) -> None:
    from tpustarter.learning import notebook

    text = notebook.text(lesson)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"cannot write `{file}`: {error.strerror or error}") from error
    click.echo(visible(f"{lesson.title}: written to {file}; open it in Jupyter or Colab"))


def _which() -> None:
    """Print the path that fits this machine, and where the learner is on it."""
    from tpustarter.learning import progress

    lessons = {one.id: one for one in content.read_lessons()}
    paths = content.read_paths()
    path = _path_here(paths)
    known = progress.read().lessons
    following = progress.next_lesson(path.lessons)
    click.echo(visible(f"{path.title}. {path.who}"))
    click.echo()
    for name in path.lessons:
        is_done = name in known and known[name].done
        mark = "done" if is_done else "next" if name == following else ""
        lesson = lessons[name]
        click.echo(visible(f"  {mark:<5} {name:<30} {lesson.header.get('minutes', '?'):>3} min"))
    others = ", ".join(f"`{one.title}`" for one in paths if one is not path)
    click.echo()
    click.echo(visible(f"Other paths: {others}: tpustarter learn"))


def _export() -> None:
    from tpustarter.checking import document
    from tpustarter.learning import progress

    click.echo(document.line(progress.export()))


def _named(name: str, lessons: list[Lesson]) -> Lesson:
    chosen = next((one for one in lessons if one.id == name), None)
    if chosen:
        return chosen
    near = get_close_matches(name, [one.id for one in lessons], n=1)
    raise Problem(
        f"there is no lesson `{name}`",
        hint=f"did you mean `{near[0]}`?" if near else "`tpustarter learn` lists them",
        code=ExitCode.USAGE,
    )


def _import(exported: TextIO) -> None:
    from tpustarter.learning import progress

    try:
        other = progress.read_export(exported.read())
    except (OSError, ValueError) as error:
        raise Problem(
            f"`{exported.name}` is not what `tpustarter learn --export` prints: {error}",
            hint="run `tpustarter learn --export > FILE` where you learned before",
        ) from error
    progress.merge(other)
    done = sum(1 for one in progress.read().lessons.values() if one.done)
    click.echo(f"{done} lesson{'s are' if done != 1 else ' is'} done now, there or here")


def _lint() -> None:
    from tpustarter.learning import lint

    found = lint.everything()
    for line in found:
        click.echo(visible(line))
    if found:
        count = f"{len(found)} complaint{'s' if len(found) > 1 else ''}"
        click.echo(f"exit 78: {count}; next: mend the lines above", err=True)
        sys.exit(ExitCode.CONFIGURATION)
    click.echo(f"{len(content.read_lessons())} lessons, nothing to complain about")


def _search(text: str) -> None:
    from tpustarter.learning import markdown

    found = markdown.search(content.read_lessons(), text)
    for lesson, number, line in found:
        click.echo(visible(f"{lesson.id}:{number}: {line.strip()}"))
    if not found:
        click.echo(f"exit 5: no lesson holds `{visible(text)}`; next: `tpustarter learn`", err=True)
        sys.exit(ExitCode.NOTHING_VERIFIED)


def _old(text: str) -> None:
    from tpustarter.learning import then_now

    found = then_now.search(then_now.read(), text)
    for number, one in enumerate(found):
        if number:
            click.echo()
        click.echo(visible(f"{one.id}  {one.status}"))
        read = f"{one.command}" if one.command else "no lesson yet"
        proof = one.proof or "not shown by code here"
        for word, said in (("then", one.then), ("now", one.now), ("read", read),
                           ("proof", proof), ("source", one.source)):  # fmt: skip
            for line in textwrap.wrap(said, 70, break_long_words=False, break_on_hyphens=False):
                click.echo(visible(f"  {word:<7}{line}"))
                word = ""  # noqa: PLW2901  told once
    if not found:
        told = f"exit 5: no older claim holds `{visible(text)}`; next: `tpustarter learn --search`"
        click.echo(told, err=True)
        sys.exit(ExitCode.NOTHING_VERIFIED)


def _list(lessons: list[Lesson]) -> None:
    """Print every lesson with what was done of it, and the paths through them."""
    from tpustarter.learning import progress

    if not lessons:
        raise Problem("there are no lessons here", hint="install tpustarter again")
    paths = content.read_paths()
    following = progress.next_lesson(_path_here(paths).lessons) if paths else None
    known = progress.read().lessons
    tracks: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        tracks.setdefault(lesson.id.split("/")[0], []).append(lesson)
    for track, members in tracks.items():
        click.echo(f"Lessons on {track}")
        for lesson in members:
            done = known[lesson.id].done if lesson.id in known else None
            begun = "begun" if lesson.id in known else ""
            mark = "done" if done else "next" if lesson.id == following else begun
            minutes = f"{lesson.header.get('minutes', '?')} min"
            click.echo(visible(f"  {mark:<5} {lesson.id:<30} {minutes:>6}  {lesson.title}"))
    click.echo("\nPaths")
    for path in paths:
        done = sum(1 for one in path.lessons if one in known and known[one].done)
        first = progress.next_lesson(path.lessons)
        told = f"next {first}" if first else "all done"
        click.echo(visible(f"  {path.title}: {done} of {len(path.lessons)} done, {told}"))
    click.echo(f"\nRead one: tpustarter learn {following or lessons[0].id}")


def _path_here(paths: list[LessonPath]) -> LessonPath:
    """Return the path that fits this machine: the first one where there is a TPU."""
    from tpustarter.machine import host

    wanted = "fresh-tpu-vm" if host.platform_hint(host.Machine()) == "tpu" else "laptop"
    return next((path for path in paths if path.id == wanted), paths[0])


def _print(lessons: list[Lesson]) -> None:
    from tpustarter.learning import lesson_text, progress

    known = progress.read().lessons
    for number, lesson in enumerate(lessons):
        if number:
            click.echo()
        for line in lesson_text.render(lesson, known.get(lesson.id, progress.LessonProgress())):
            click.echo(visible(line))


def _describe(lessons: list[Lesson]) -> None:
    from tpustarter.checking import document
    from tpustarter.learning import lesson_run
    from tpustarter.learning.practice import Practice

    click.echo(document.line(lesson_run.document(Practice(lessons))))


def _run(lessons: list[Lesson], *, as_json: bool, **where: Any) -> None:
    from tpustarter.learning import lesson_run
    from tpustarter.learning.practice import Practice

    practice = Practice(lessons, **where)
    shown = lesson_run.Shown(click.echo, finished=not as_json)
    with stopped_by_signals(practice.stop):
        for event in practice.events():
            shown.event(event)
    code = practice.exit_code()
    if as_json:
        from tpustarter.checking import document

        click.echo(document.line(lesson_run.document(practice)))
    else:
        click.echo(lesson_run.headline(practice))
    if practice.not_kept:
        told = f"warning: what you did is not remembered: {practice.not_kept.what}"
        click.echo(visible(told), err=True)
    if code != ExitCode.OK:
        click.echo(lesson_run.why(practice, code), err=True)
    sys.exit(code)
