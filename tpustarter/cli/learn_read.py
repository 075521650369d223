"""What `tpustarter learn` shows of a lesson: its text, a notebook of it, what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tpustarter import content, locations
from tpustarter.cli import onward
from tpustarter.cli.saying import page
from tpustarter.content import Lesson
from tpustarter.invocation import as_typed
from tpustarter.learning.paths import read_paths
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import visible


def show(lessons: list[Lesson]) -> None:
    """Print lessons as plain text, with what was done of them."""
    page(lines(lessons))


def lines(lessons: list[Lesson]) -> Iterator[str]:
    """Yield lessons as plain text, with what was done of them."""
    from tpustarter.learning import course, lesson_text, progress

    records, done, read = progress.read().lessons, progress.done(), progress.read_only()
    path = onward.path_here(read_paths())
    for number, lesson in enumerate(lessons):
        if number:
            yield ""
        known = records.get(lesson.id, progress.LessonProgress())
        following = course.onward(lesson.id, path, done, read).lesson
        for line in lesson_text.render(lesson, known, following):
            yield as_typed(visible(line))


def write_notebook(lesson: Lesson, file: Path, *, force: bool) -> None:
    """Write a lesson as a Jupyter notebook; a file that exists is replaced only with `force`."""
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


def show_code(lesson: Lesson, name: str, *, force: bool) -> None:
    """Print a file that the blocks of a lesson use, or copy all of them into a folder."""
    from tpustarter.learning import code_files

    folder = Path(name)
    if not folder.is_dir():
        click.echo(code_files.text(lesson, name), nl=False)
        return
    texts = code_files.read(lesson)
    existing = [one for one in texts if (folder / one).exists()]
    if existing and not force:
        raise Problem(
            f"`{folder / existing[0]}` already exists, and may contain your work",
            hint="name another folder, or add `--force` to overwrite its files",
            code=ExitCode.USAGE,
        )
    code_files.place(lesson, folder)
    names = code_files.listed([*texts]) if texts else "it uses no files"
    click.echo(visible(f"{lesson.title}: {names}"))


def lint() -> None:
    """Say what is wrong with the lessons; exit 78 where something is."""
    from tpustarter.learning import lint as linter

    complaints = linter.everything()
    for complaint in complaints:
        click.echo(visible(complaint))
    if complaints:
        count = f"{len(complaints)} complaint{'s' if len(complaints) > 1 else ''}"
        click.echo(f"exit 78: {count}. Next: fix the lines above", err=True)
        sys.exit(ExitCode.CONFIGURATION)
    click.echo(f"{len(content.read_lessons())} lessons, nothing to complain about")
