"""`tpustarter learn`: list the lessons, print one, or run its blocks and judge what they print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import click

from tpustarter import content, locations
from tpustarter.checking.results import LEARN_SCHEMA
from tpustarter.cli import onward
from tpustarter.cli.endings import json_even_if_it_breaks, stopped_by_signals
from tpustarter.content import Lesson
from tpustarter.invocation import as_typed
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
    help="Work on an exercise: edit its file, and run this again to judge it. "
    "Without an ID, list them.",
)
@click.option("--watch", is_flag=True, help="Judge the exercise whenever you save it.")
@click.option("--hint", is_flag=True, help="Show the exercise's next hint.")
@click.option("--solution", is_flag=True, help="Show the exercise's solution.")
@click.option("--reset", is_flag=True, help="Start the exercise again; your file is kept aside.")
@click.option(
    "--search",
    metavar="TEXT",
    is_flag=False,
    flag_value="",
    help="Show the lines of all lessons that contain TEXT.",
)
@click.option(
    "--old",
    metavar="TEXT",
    is_flag=False,
    flag_value="",
    help="Look up what an older tutorial says, and what is true.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--plain", is_flag=True, hidden=True, help="Plain text; what is printed anyway.")
@click.option(
    "--notebook",
    metavar="FILE",
    help="Write the lesson as a Jupyter notebook, which Colab opens too.",
)
@click.option("--force", is_flag=True, help="Overwrite the notebook if the file exists.")
@click.option("--path", is_flag=True, help="Say which lessons fit this machine, in order.")
@click.option("--which", is_flag=True, help="Ask three questions, and say which library to take.")
@click.option("--from", "origin", metavar="LIBRARY", help="Answers --which: what you come from.")
@click.option("--need", metavar="AIM", help="Answers --which: what you want to do.")
@click.option("--have", metavar="MACHINE", help="Answers --which: what it will run on.")
@click.option("--export", is_flag=True, help="Print what you did so far, as JSON.")
@click.option(
    "--import",
    "exported",
    type=click.File(encoding="utf-8-sig"),
    metavar="FILE",
    help="Add what --export printed elsewhere; - reads stdin.",
)
@click.option("--lint", is_flag=True, help="Say what is wrong with the lessons.")
def learn(**values: Any) -> None:
    """List the lessons, or print one of them; with --run, run its blocks.

    A lesson runs only with --run. All its blocks run in one process, of the Python that the
    first line of the output names.
    """
    options = SimpleNamespace(**values)
    _refuse_empty(options)
    _refuse_conflicts(options)
    if action := _standalone_action(options):
        action()
        return
    with json_even_if_it_breaks(LEARN_SCHEMA, wanted=options.as_json):
        lessons = content.read_lessons()
        chosen = [_find_lesson(options.lesson, lessons)] if options.lesson else lessons
        if options.notebook is not None:
            _write_notebook(chosen[0], Path(options.notebook), force=options.force)
        elif options.running:
            _run(chosen, as_json=options.as_json, python=options.python, devices=options.devices)
        elif options.as_json:
            _describe(chosen)
        elif options.lesson or options.every:
            _print(chosen)
        else:
            _list(lessons)


def _refuse_empty(options: SimpleNamespace) -> None:
    """Refuse what names nothing, as with a shell variable that is not set."""
    examples = {
        "lesson": "a lesson needs a name, such as `tpustarter learn jax/precision`",
        "notebook": "--notebook needs a file, such as `--notebook precision.ipynb`",
        "search": "--search needs a text, such as `--search shard_map`",
        "old": "--old needs some words of an older tutorial, such as `--old pmap`",
    }
    for name, message in examples.items():
        value = getattr(options, name)
        if value is not None and not value.strip():
            raise click.UsageError(message)


def _refuse_conflicts(options: SimpleNamespace) -> None:
    if options.lesson and options.every:
        raise click.UsageError("name a lesson or give --all, not both")
    if options.running and not (options.lesson or options.every):
        raise click.UsageError("--run needs a lesson, or --all")
    notebook = options.notebook is not None
    if notebook and (not options.lesson or options.running or options.as_json):
        raise click.UsageError("--notebook needs a lesson, and goes with nothing else but --force")
    if options.force and not notebook:
        raise click.UsageError("--force goes with --notebook")
    modes = (options.watch, options.hint, options.solution, options.reset)
    if sum(modes) > bool(options.exercise):
        raise click.UsageError("one of --watch, --hint, --solution, --reset goes with --exercise")
    chosen = options.python is not None or options.devices is not None
    if chosen and not options.running and options.exercise is None:
        raise click.UsageError("--python and --devices go with --run, or with an exercise")
    if not options.which and any(answer is not None for answer in _answers(options).values()):
        raise click.UsageError("--from, --need and --have go with --which")


def _answers(options: SimpleNamespace) -> dict[str, str | None]:
    """Return what was typed for the questions of `--which`."""
    return {"from": options.origin, "need": options.need, "have": options.have}


def _standalone_action(options: SimpleNamespace) -> Callable[[], None] | None:
    """Return what to do for an option that goes alone; None where none was given."""
    standalone: dict[str, tuple[bool, Callable[[], None]]] = {
        "--search": (options.search is not None, lambda: _search(options.search)),
        "--old": (options.old is not None, lambda: _search_claims(options.old)),
        "--exercise": (options.exercise is not None, lambda: _exercise(options)),
        "--path": (options.path, _show_path),
        "--which": (options.which, lambda: _recommend(options)),
        "--export": (options.export, _export),
        "--import": (options.exported is not None, lambda: _import(options.exported)),
        "--lint": (options.lint, _lint),
    }
    actions = [action for is_given, action in standalone.values() if is_given]
    with_json = options.as_json and not (options.which or options.export)  # that is JSON anyway
    others = (options.running, options.every, with_json, options.lesson is not None)
    if actions and len(actions) + sum(others) > 1:
        *names, last = standalone
        raise click.UsageError(f"{', '.join(names)} and {last} each go alone")
    return actions[0] if actions else None


def _exercise(options: SimpleNamespace) -> None:
    from tpustarter.cli import exercise
    from tpustarter.learning import exercises

    lessons = content.read_lessons()
    if not options.exercise:
        exercise.show_all(lessons)
        return
    exercise.work(
        exercises.find(lessons, options.exercise),
        watch=options.watch, hint=options.hint, solution=options.solution, reset=options.reset,
        python=options.python, devices=options.devices,
    )  # fmt: skip


def _write_notebook(lesson: Lesson, file: Path, *, force: bool) -> None:
    from tpustarter.learning import notebook

    if file.is_file() and not force:
        raise Problem(
            f"`{file}` already exists, and may contain your work",
            hint="name another file, or add `--force` to overwrite this one",
            code=ExitCode.USAGE,
        )
    text = notebook.text(lesson)
    locations.write(file, text)
    click.echo(visible(f"{lesson.title}: written to {file}; open it in Jupyter or Colab"))


def _show_path() -> None:
    """Print the path that fits this machine, and where the learner is on it."""
    from tpustarter.learning import progress

    lessons = {lesson.id: lesson for lesson in content.read_lessons()}
    paths = content.read_paths()
    path = onward.path_here(paths)
    if path is None:
        raise Problem("there are no paths here", hint="install tpustarter again")
    records = progress.read().lessons
    following = progress.next_lesson(path.lessons)
    click.echo(visible(f"{path.title}. {path.who}"))
    click.echo()
    for name in path.lessons:
        is_done = name in records and records[name].done
        mark = "done" if is_done else "next" if name == following else ""
        lesson = lessons[name]
        click.echo(visible(f"  {mark:<5} {name:<30} {lesson.header.get('minutes', '?'):>3} min"))
    other_titles = ", ".join(f"`{candidate.title}`" for candidate in paths if candidate is not path)
    click.echo()
    click.echo(as_typed(visible(f"Other paths: {other_titles}: tpustarter learn")))


def _export() -> None:
    from tpustarter.checking import document
    from tpustarter.learning import progress

    click.echo(document.line(progress.export()))


def _find_lesson(name: str, lessons: list[Lesson]) -> Lesson:
    lesson = next((lesson for lesson in lessons if lesson.id == name), None)
    if lesson:
        return lesson
    matches = get_close_matches(name, [lesson.id for lesson in lessons], n=1)
    raise Problem(
        f"there is no lesson `{name}`",
        hint=f"did you mean `{matches[0]}`?" if matches else "`tpustarter learn` lists them",
        code=ExitCode.USAGE,
    )


def _import(exported: TextIO) -> None:
    from tpustarter.learning import progress

    try:
        imported = progress.read_export(exported.read())
    except (OSError, ValueError) as error:
        raise Problem(
            f"`{exported.name}` is not what `tpustarter learn --export` prints: {error}",
            hint="run `tpustarter learn --export > FILE` where you learned before",
        ) from error
    progress.merge(imported)
    done = sum(1 for record in progress.read().lessons.values() if record.done)
    click.echo(f"{done} lesson{'s are' if done != 1 else ' is'} done now, there or here")


def _lint() -> None:
    from tpustarter.learning import lint

    complaints = lint.everything()
    for complaint in complaints:
        click.echo(visible(complaint))
    if complaints:
        count = f"{len(complaints)} complaint{'s' if len(complaints) > 1 else ''}"
        click.echo(f"exit 78: {count}; next: fix the lines above", err=True)
        sys.exit(ExitCode.CONFIGURATION)
    click.echo(f"{len(content.read_lessons())} lessons, nothing to complain about")


def _search(text: str) -> None:
    from tpustarter.learning import markdown

    matches = markdown.search(content.read_lessons(), text)
    for lesson, number, line in matches:
        click.echo(visible(f"{lesson.id}:{number}: {line.strip()}"))
    if not matches:
        click.echo(
            f"exit 5: no lesson contains `{visible(text)}`; next: `tpustarter learn`", err=True
        )
        sys.exit(ExitCode.NOTHING_VERIFIED)


def _search_claims(text: str) -> None:
    from tpustarter.cli import claims

    claims.search(text)


def _recommend(options: SimpleNamespace) -> None:
    from tpustarter.cli import which

    which.recommend(_answers(options), as_json=options.as_json)


def _list(lessons: list[Lesson]) -> None:
    """Print every lesson with what was done of it, and the paths through them."""
    from tpustarter.learning import progress

    if not lessons:
        raise Problem("there are no lessons here", hint="install tpustarter again")
    paths = content.read_paths()
    path_here = onward.path_here(paths)
    following = progress.next_lesson(path_here.lessons) if path_here else None
    records = progress.read().lessons
    tracks: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        tracks.setdefault(lesson.id.split("/")[0], []).append(lesson)
    for track, members in tracks.items():
        click.echo(f"Lessons on {track}")
        for lesson in members:
            done = records[lesson.id].done if lesson.id in records else None
            begun = "begun" if lesson.id in records else ""
            mark = "done" if done else "next" if lesson.id == following else begun
            minutes = f"{lesson.header.get('minutes', '?')} min"
            click.echo(visible(f"  {mark:<5} {lesson.id:<30} {minutes:>6}  {lesson.title}"))
    click.echo("\nPaths")
    for path in paths:
        done = sum(1 for name in path.lessons if name in records and records[name].done)
        next_id = progress.next_lesson(path.lessons)
        status = f"next {next_id}" if next_id else "all done"
        click.echo(visible(f"  {path.title}: {done} of {len(path.lessons)} done, {status}"))
    click.echo(as_typed(f"\nRead one: tpustarter learn {following or lessons[0].id}"))


def _print(lessons: list[Lesson]) -> None:
    from tpustarter.learning import course, lesson_text, progress

    records, done = progress.read().lessons, progress.done()
    path = onward.path_here(content.read_paths())
    for number, lesson in enumerate(lessons):
        if number:
            click.echo()
        known = records.get(lesson.id, progress.LessonProgress())
        following = course.onward(lesson.id, path, done).lesson
        for line in lesson_text.render(lesson, known, following):
            click.echo(as_typed(visible(line)))


def _describe(lessons: list[Lesson]) -> None:
    from tpustarter.checking import document
    from tpustarter.learning import lesson_run
    from tpustarter.learning.practice import Practice

    click.echo(document.line(lesson_run.document(Practice(lessons))))


def _run(lessons: list[Lesson], *, as_json: bool, **options: Any) -> None:
    from tpustarter.learning import lesson_run
    from tpustarter.learning.practice import Practice

    practice = Practice(lessons, **options)
    printer = lesson_run.Shown(click.echo, finished=not as_json)
    with stopped_by_signals(practice.stop):
        for event in practice.events():
            printer.event(event)
    code = practice.exit_code()
    if as_json:
        from tpustarter.checking import document

        click.echo(document.line(lesson_run.document(practice)))
    else:
        click.echo(lesson_run.headline(practice))
        if len(lessons) == 1 and practice.run.results:
            onward.after_run(lessons[0], all_passed=code == ExitCode.OK)
    if practice.not_kept:
        message = f"warning: what you did is not remembered: {practice.not_kept.what}"
        click.echo(visible(message), err=True)
    if code != ExitCode.OK:
        click.echo(lesson_run.why(practice, code), err=True)
    if broken := next((one for one in practice.run.results if one.status == "error"), None):
        command = f"tpustarter learn {broken.lesson} --run 2>&1 | tpustarter explain"
        click.echo(f"why: `{command}`", err=True)
    sys.exit(code)
