"""What `tpustarter learn` lists: the lessons, the paths, and what was done of them."""

from __future__ import annotations

import click

from tpustarter import content
from tpustarter.cli import onward
from tpustarter.content import Lesson
from tpustarter.invocation import as_typed
from tpustarter.problem import Problem
from tpustarter.terminal import visible


def show(lessons: list[Lesson]) -> None:
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


def show_path() -> None:
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


def describe(lessons: list[Lesson]) -> None:
    """Print one JSON document about lessons, nothing run."""
    from tpustarter.checking import document
    from tpustarter.learning import lesson_run
    from tpustarter.learning.practice import Practice

    click.echo(document.line(lesson_run.document(Practice(lessons))))
