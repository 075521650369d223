"""A lesson as `tpustarter learn` prints it: its text, its notebook, its files and its mistakes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tpustarter.cli.echo import page_lines
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.core import content, locations
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content.paths import read_paths
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text


def print_lessons(lessons: list[Lesson]) -> None:
    """Print lessons as plain text, with the learner's progress."""
    page_lines(lesson_lines(lessons))


def lesson_lines(lessons: list[Lesson]) -> Iterator[str]:
    """Yield the lines of lessons as plain text, with the learner's progress."""
    from tpustarter.learning.content import lesson_text
    from tpustarter.learning.progress import course, lesson_progress
    from tpustarter.setup.environment import needed_setups

    records, done, read = (
        lesson_progress.read_progress().lessons,
        lesson_progress.list_done_lessons(),
        lesson_progress.list_read_lessons(),
    )
    path = learn_next_step.find_learning_path(read_paths())
    here = learn_next_step.find_lesson_pythons()
    for number, lesson in enumerate(lessons):
        if number:
            yield ""
        known = records.get(lesson.id, lesson_progress.LessonProgress())
        following = course.find_next_lesson(lesson.id, path, done, read).lesson
        setup = needed_setups.describe_need(lesson, here)
        for line in lesson_text.render_lesson(lesson, known, following, setup=setup):
            yield format_commands(escape_text(line))


def write_notebook(lesson: Lesson, file: Path, *, force: bool) -> None:
    """Write a lesson as a Jupyter notebook; an existing file is overwritten only with `force`."""
    from tpustarter.learning.content import notebook

    with locations.convert_output_errors(file):
        exists = file.is_file()
    if exists and not force:
        raise Problem(
            f"`{file}` already exists, and may contain your work",
            hint="name another file, or add `--force` to overwrite this one",
            code=ExitCode.USAGE,
        )
    text = notebook.render_notebook(lesson)
    locations.write_user_file(file, text)
    click.echo(escape_text(f"{lesson.title}: written to {file}; open it in Jupyter or Colab"))


def print_code_file(lesson: Lesson, name: str, *, force: bool) -> None:
    """Print a file that a lesson's blocks use, or copy all such files into a folder."""
    from tpustarter.learning.content import code_files

    folder = Path(name)
    if not folder.is_dir():
        click.echo(code_files.read_code_file(lesson, name), nl=False)
        return
    texts = code_files.read_code_files(lesson)
    existing = [one for one in texts if (folder / one).exists()]
    if existing and not force:
        raise Problem(
            f"`{folder / existing[0]}` already exists, and may contain your work",
            hint="name another folder, or add `--force` to overwrite its files",
            code=ExitCode.USAGE,
        )
    for one, text in texts.items():
        locations.write_user_file(folder / one, text)
    names = phrases.join_words(texts) if texts else "it uses no files"
    click.echo(escape_text(f"{lesson.title}: {names}"))


def print_mistakes() -> None:
    """Print the mistakes in the lessons, and exit with 78 if there are any."""
    from tpustarter.learning.lint import lesson_mistakes as linter

    complaints = linter.list_lesson_mistakes()
    for complaint in complaints:
        click.echo(escape_text(complaint))
    if complaints:
        count = phrases.format_count(len(complaints), "complaint")
        click.echo(f"exit 78: {count}. Next: fix the lines above", err=True)
        sys.exit(ExitCode.CONFIGURATION)
    click.echo(f"{len(content.read_lessons())} lessons, nothing to complain about")
