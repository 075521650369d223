"""`tpustarter learn`: lists lessons, prints one, or runs its blocks and judges their output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import click

from tpustarter.checking.results.results import LEARN_SCHEMA
from tpustarter.cli.command_end import print_errors_as_json
from tpustarter.cli.echo import echo_if_waiting
from tpustarter.cli.parameters import StrictCommand
from tpustarter.core import content, locations, state
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content.paths import read_paths
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text

# The modules for lessons are imported where they are used, because each is slow to load.


@click.command(
    cls=StrictCommand,
    short_help="Show your path through the lessons, or print or run one.",
    epilog="Example: tpustarter learn jax/precision --run",
)
@click.argument("lesson", required=False)
@click.option(
    "--run", "running", is_flag=True, help="Run the blocks of code here, and check their output."
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Print every lesson; with --run, run them all; with --exercise, list all exercises.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="List every lesson and every path, not only yours."
)
@click.option("--python", metavar="PATH", help="The Python that runs the code.")
@click.option(
    "--devices",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Use N virtual CPU devices, even beside a TPU.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Compile every program anew, and load none that an earlier run compiled.",
)
@click.option(
    "--exercise",
    metavar="ID",
    is_flag=False,
    flag_value="",
    help="Start an exercise. Edit its file, then run the command again to check your answer. "
    "A lesson names its exercise, too. Without an ID it is the next open one of your path, and "
    "with --all the exercises are listed.",
)
@click.option("--watch", is_flag=True, help="Check the exercise whenever you save its file.")
@click.option("--hint", is_flag=True, help="Show the exercise's next hint.")
@click.option("--solution", is_flag=True, help="Show the exercise's solution.")
@click.option(
    "--reset",
    is_flag=True,
    help="Start the exercise again; your old file is kept beside the new one.",
)
@click.option(
    "--search",
    metavar="TEXT",
    is_flag=False,
    flag_value="",
    help="Search the lessons, the glossary, the checks and what older tutorials say.",
)
@click.option(
    "--old",
    metavar="TEXT",
    is_flag=False,
    flag_value="",
    help="Look up what an older tutorial says, and what is true today.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.option("--plain", is_flag=True, hidden=True, help="Plain text; what is printed anyway.")
@click.option(
    "--notebook",
    metavar="FILE",
    help="Write the lesson as a Jupyter notebook, which Colab opens too.",
)
@click.option(
    "--code",
    metavar="FILE",
    help="Print a file that the lesson's code imports or reads, such as transformer.py. With a "
    "folder, copy all of them there.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist already.")
@click.option(
    "--path",
    metavar="ID",
    is_flag=False,
    flag_value="",
    help="Show your path with all its lessons. With an ID, follow that path from now on.",
)
@click.option("--which", is_flag=True, help="Ask three questions, and recommend a library.")
@click.option(
    "--from",
    "origin",
    metavar="LIBRARY",
    help="For --which: the library you come from, such as pytorch.",
)
@click.option("--need", metavar="AIM", help="For --which: what you want to do, such as train.")
@click.option("--have", metavar="MACHINE", help="For --which: what it will run on, such as v6e-8.")
@click.option("--export", is_flag=True, help="Print your progress as JSON.")
@click.option(
    "--import",
    "exported",
    metavar="FILE",
    help="Add the progress that --export printed elsewhere; - reads stdin.",
)
@click.option("--lint", is_flag=True, help="Look for mistakes in the lesson files.")
def learn(**values: object) -> None:
    """Show your path through the lessons, or print a lesson; with --run, run its code.

    LESSON is the id of a lesson, such as jax/precision, or a part of one. A lesson longer than the
    terminal opens in your pager (PAGER). Its code runs only with --run. All blocks then run in one
    process, and the first line of the output names its Python.
    """
    options = SimpleNamespace(**values)
    _refuse_conflicts(options)
    if action := _standalone_action(options):
        action()
        return
    with print_errors_as_json(LEARN_SCHEMA, wanted=options.as_json):
        lessons = content.read_lessons()
        if _names_track(options, lessons):
            from tpustarter.cli.learn import lesson_list

            lesson_list.print_track(lessons, options.lesson)
            return
        chosen = [_find_lesson(options.lesson, lessons)] if options.lesson else lessons
        _act_on(chosen, options)


def _act_on(chosen: list[Lesson], options: SimpleNamespace) -> None:
    if options.running:
        from tpustarter.cli.learn import run_lessons

        run_lessons.run_lessons(
            chosen,
            as_json=options.as_json,
            python=options.python,
            devices=options.devices,
            fresh=options.fresh,
        )
    elif options.notebook is not None:
        from tpustarter.cli.learn import lesson_page

        lesson_page.write_notebook(chosen[0], Path(options.notebook), force=options.force)
    elif options.code is not None:
        from tpustarter.cli.learn import lesson_page

        lesson_page.print_code_file(chosen[0], options.code, force=options.force)
    elif options.as_json:
        from tpustarter.cli.learn import lesson_list

        lesson_list.print_lessons_as_json(chosen, with_text=bool(options.lesson))
    elif options.lesson or options.every:
        from tpustarter.cli.learn import lesson_page

        lesson_page.print_lessons(chosen)
    else:
        from tpustarter.cli.learn import lesson_list

        lesson_list.print_overview(chosen, every=options.verbose)


def _names_track(options: SimpleNamespace, lessons: list[Lesson]) -> bool:
    tracks = {lesson.id.partition("/")[0] for lesson in lessons}
    return options.lesson in tracks and not (
        options.running
        or options.as_json
        or options.notebook is not None
        or options.code is not None
    )


def _refuse_conflicts(options: SimpleNamespace) -> None:
    if options.search == "":
        raise click.UsageError("--search needs a text, such as `--search shard_map`")
    if options.old == "":
        raise click.UsageError("--old needs some words of an older tutorial, such as `--old pmap`")
    if options.lesson and options.every:
        raise click.UsageError("give either a lesson or --all, not both")
    if options.running and not (options.lesson or options.every):
        raise click.UsageError("--run needs a lesson, or --all")
    notebook = options.notebook is not None
    if notebook and (not options.lesson or options.running or options.as_json):
        raise click.UsageError("--notebook needs a lesson, and only --force can be added to it")
    code = options.code is not None
    if code and (not options.lesson or options.running or options.as_json or notebook):
        raise click.UsageError("--code needs a lesson, and only --force can be added to it")
    if options.verbose and (options.lesson or options.every or options.running):
        raise click.UsageError("-v only works with the list of lessons: `tpustarter learn -v`")
    if options.force and not (notebook or code):
        raise click.UsageError("--force only works with --notebook and --code")
    _refuse_exercise_conflicts(options)
    if not options.which and any(answer is not None for answer in _answers(options).values()):
        raise click.UsageError("--from, --need and --have only work with --which")


def _refuse_exercise_conflicts(options: SimpleNamespace) -> None:
    modes = (options.watch, options.hint, options.solution, options.reset)
    takes_mode = options.exercise or (options.exercise == "" and not _lists_exercises(options))
    if sum(modes) > bool(takes_mode):
        raise click.UsageError(
            "--exercise takes one of --watch, --hint, --solution and --reset, which need it"
        )
    chosen = options.python is not None or options.devices is not None or options.fresh
    if chosen and not options.running and options.exercise is None:
        raise click.UsageError("--python, --devices and --fresh only work with --run or --exercise")
    if options.fresh and sum(modes) > options.watch:
        raise click.UsageError("--fresh doesn't work with --hint, --solution and --reset")


def _lists_exercises(options: SimpleNamespace) -> bool:
    return options.exercise == "" and bool(options.every or options.lesson)


def _answers(options: SimpleNamespace) -> dict[str, str | None]:
    return {"from": options.origin, "need": options.need, "have": options.have}


def _standalone_action(options: SimpleNamespace) -> Callable[[], None] | None:
    standalone: dict[str, tuple[bool, Callable[[], None]]] = {
        "--search": (
            options.search is not None,
            lambda: _search(options.search, as_json=options.as_json),
        ),
        "--old": (options.old is not None, lambda: _print_outdated_claims(options.old)),
        "--exercise": (options.exercise is not None, lambda: _exercise(options)),
        "--path": (options.path is not None, lambda: _show_path(options.path)),
        "--which": (options.which, lambda: _recommend(options)),
        "--export": (options.export, _export),
        "--import": (options.exported is not None, lambda: _import(options.exported)),
        "--lint": (options.lint, _lint),
    }
    actions = [action for is_given, action in standalone.values() if is_given]
    has_json = options.which or options.export or options.search is not None
    with_json = options.as_json and not has_json
    others = (
        options.running,
        options.every and not _lists_exercises(options),
        options.verbose,
        with_json,
        options.lesson is not None and options.exercise is None,
    )
    if actions and len(actions) + sum(others) > 1:
        *names, last = standalone
        raise click.UsageError(
            f"give only one of {', '.join(names)} and {last}, without a lesson, --run, --all, "
            "-v or --json"
        )
    return actions[0] if actions else None


def _exercise(options: SimpleNamespace) -> None:
    from tpustarter.cli.learn import exercise
    from tpustarter.learning.content import exercises

    lessons, listed_by = content.read_lessons(), exercises.LISTED_BY
    if options.exercise == "" and not _lists_exercises(options):
        from tpustarter.cli.learn import next_step as learn_next_step

        options.exercise = learn_next_step.find_next_exercise() or ""
        if not options.exercise:
            exercise.print_all_solved()
            return
    if options.lesson:
        lessons = [_find_lesson(options.lesson, lessons)]
        listed_by = f"tpustarter learn {lessons[0].id} --exercise"
    lesson = _lesson_meant(options.exercise, lessons) if options.exercise else None
    of_lesson = exercises.read_exercises(lesson) if lesson else []
    modes = options.watch or options.hint or options.solution or options.reset
    if not options.exercise or (lesson and len(of_lesson) != 1 and not modes):
        exercise.print_exercises([lesson] if lesson else lessons)
        return
    if lesson and len(of_lesson) != 1:
        count = f"{len(of_lesson)} exercises" if of_lesson else "no exercise"
        listed = f"`tpustarter learn {lesson.id} --exercise` lists them" if of_lesson else ""
        what = f"the lesson `{lesson.id}` has {count}"
        raise Problem(what, hint=listed, code=ExitCode.USAGE)
    exercise.work_on_exercise(
        of_lesson[0] if lesson else exercises.find_exercise(lessons, options.exercise, listed_by),
        watch=options.watch,
        hint=options.hint,
        solution=options.solution,
        reset=options.reset,
        python=options.python,
        devices=options.devices,
        fresh=options.fresh,
    )


def _lesson_meant(typed: str, lessons: list[Lesson]) -> Lesson | None:
    """Return the lesson whose id was typed as an exercise, or None if an exercise was named."""
    from tpustarter.core import short_ids

    known = [
        f"{lesson.id.partition('/')[0]}/{name}"
        for lesson in lessons
        for name in lesson.exercise_names
    ]
    ids = [lesson.id for lesson in lessons]
    if any(short_ids.is_id_or_last_part(typed, one) for one in known):
        return None
    is_named = any(short_ids.is_id_or_last_part(typed, one) for one in ids)
    is_piece = short_ids.list_matching_ids(typed, ids) and not short_ids.list_matching_ids(
        typed, known
    )
    return _find_lesson(typed, lessons) if is_named or is_piece else None


def _export() -> None:
    from tpustarter.checking.output import run_document
    from tpustarter.learning.progress import progress_transfer

    click.echo(run_document.format_json_line(progress_transfer.make_progress_export()))


def _find_lesson(name: str, lessons: list[Lesson]) -> Lesson:
    """Return the named lesson; of several matches, the one on the learner's path."""
    if any(lesson.id == name for lesson in lessons):
        return content.find_lesson(name, lessons)  # without reading paths
    from tpustarter.cli.learn import next_step as learn_next_step
    from tpustarter.core import short_ids

    path = learn_next_step.find_learning_path(read_paths())
    lesson = content.find_lesson(name, lessons, path.lessons if path else ())
    others = short_ids.list_matching_ids(name, [one.id for one in lessons if one is not lesson])
    if others:
        commands = ", ".join(f"`tpustarter learn {escape_text(other)}`" for other in others)
        click.echo(format_commands(f"note: `{escape_text(name)}` is also {commands}"), err=True)
    return lesson


def _import(name: str) -> None:
    from tpustarter.learning.progress import lesson_progress, progress_transfer

    try:
        imported = progress_transfer.parse_progress_export(_exported(name))
    except (FileNotFoundError, PermissionError) as error:
        what = f"cannot read `{name}`: {error.strerror}"
        raise Problem(what, code=ExitCode.USAGE) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Problem(
            f"`{name}` is not what `tpustarter learn --export` prints: {why}",
            hint="run `tpustarter learn --export > FILE` on the machine where you learned before",
        ) from error
    progress_transfer.merge_progress_export(imported)
    done = sum(1 for record in lesson_progress.read_progress().lessons.values() if record.done)
    click.echo(f"{phrases.format_count(done, 'lesson is', 'lessons are')} done now, there or here")


def _exported(name: str) -> str:
    """Return the text of a file or of stdin; raises OSError, or ValueError if it is too large."""
    if name != "-":
        path = locations.expand_path(name)
        echo_if_waiting(path)
        return locations.read_user_file(path, state.MAX_BYTES)
    data = sys.stdin.buffer.read(state.MAX_BYTES + 1)
    if len(data) > state.MAX_BYTES:
        raise ValueError(f"found more than {state.MAX_BYTES} bytes")
    return data.decode("utf-8-sig")


def _print_outdated_claims(text: str) -> None:
    from tpustarter.cli.learn import outdated_claims

    outdated_claims.print_outdated_claims(text)


def _recommend(options: SimpleNamespace) -> None:
    from tpustarter.cli.learn import library_choice

    library_choice.print_recommendation(_answers(options), as_json=options.as_json)


def _search(text: str, *, as_json: bool) -> None:
    from tpustarter.cli.learn import search as learn_search

    learn_search.print_search_results(text, as_json=as_json)


def _show_path(path: str) -> None:
    from tpustarter.cli.learn import lesson_list

    lesson_list.print_learning_path(path)


def _lint() -> None:
    from tpustarter.cli.learn import lesson_page

    lesson_page.print_mistakes()
