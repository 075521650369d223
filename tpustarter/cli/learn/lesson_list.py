"""The lists of `tpustarter learn`: the path with its stages, the progress, and the next lesson."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from tpustarter.cli.echo import echo_lines, echo_rows
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content.paths import LessonPath, read_paths
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import cut_text, escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.learning.progress.path_progress import PathPart, PathProgress
    from tpustarter.setup.environment.needed_setups import NeededSetup

_BEFORE_ID, _ID, _TITLE = 8, 29, 32
"""Column widths of the mark with its spaces, the id and the title."""


def print_overview(lessons: list[Lesson], *, every: bool = False) -> None:
    """Print the learner's path with its current stage, and the next command.

    Args:
        lessons: All lessons.
        every: True to also print all stages, the lessons that are not on the path, and the other
            paths.
    """
    if not lessons:
        raise Problem("there are no lessons here", hint="install tpustarter again")
    listing = _LessonListing(lessons)
    paths = read_paths()
    path = learn_next_step.find_learning_path(paths)
    progress = listing.find_progress(path) if path else None
    echo_rows(listing.path_lines(progress, every=every) if progress else ())
    others = [lesson for lesson in lessons if not path or lesson.id not in path.lessons]
    if every or not progress:
        echo_rows(listing.by_track(others, "Not on your path: " if progress else ""))
        echo_rows(listing.other_paths([other for other in paths if other is not path]))
    echo_lines(listing.end(progress, 0 if every else len(others)))


def print_learning_path(chosen: str = "") -> None:
    """Print the learner's path with all its lessons. If a path was chosen, switch to it first."""
    listing = _LessonListing(content.read_lessons())
    paths = read_paths()
    if chosen:
        from tpustarter.core import short_ids
        from tpustarter.learning.progress import course

        titles = {path.id: path.title for path in paths}
        course.choose_path(
            short_ids.find_id(chosen, titles, kind="path", listed_by="tpustarter learn -v")
        )
    path = learn_next_step.find_learning_path(paths)
    if path is None:
        raise Problem("there are no paths here", hint="install tpustarter again")
    click.echo(escape_text(f"{path.title}. {path.who}"))
    progress = listing.find_progress(path)
    echo_rows(list(listing.path_lines(progress, every=True))[1:])
    echo_lines(listing.end(progress, 0))


def print_track(lessons: list[Lesson], track: str) -> None:
    """Print one track's lessons."""
    listing = _LessonListing(lessons)
    rows = listing.by_track([one for one in lessons if _track(one) == track], "")
    echo_rows(list(rows)[:-1])


def print_lessons_as_json(lessons: list[Lesson], *, with_text: bool) -> None:
    """Print a JSON document about lessons, without running them; their Markdown is optional."""
    from tpustarter.checking.output import run_document
    from tpustarter.learning.run import lesson_run_text
    from tpustarter.learning.run.lessons_run import LessonsRun

    document = lesson_run_text.make_json_document(LessonsRun(lessons), with_text=with_text)
    click.echo(run_document.format_json_line(document))


class _LessonListing:
    def __init__(self, lessons: Iterable[Lesson]) -> None:
        from tpustarter.learning.progress import lesson_progress

        self._lessons = {lesson.id: lesson for lesson in lessons}
        self._records = lesson_progress.read_progress().lessons
        self._done, self._read = (
            lesson_progress.list_done_lessons(),
            lesson_progress.list_read_lessons(),
        )

    def find_progress(self, path: LessonPath) -> PathProgress:
        from tpustarter.learning.progress.path_progress import find_path_progress

        return find_path_progress(path, self._lessons, self._done, self._read)

    def path_lines(self, progress: PathProgress, *, every: bool) -> Iterator[str]:
        """Yield a path's stages, and the current stage's lessons."""
        from tpustarter.learning.progress import solved_exercises

        yield escape_text(f"Your path: {progress.path.title}")
        yield f"{_bar(progress.whole)}  {progress.whole.words}"
        on_path = [self._lessons[name] for name in progress.whole.lessons]
        if achieved := solved_exercises.describe_achievements(on_path, self._records):
            yield achieved
        for setup in self._find_setups(on_path):
            yield from wrap(format_commands(setup.describe(len(on_path))))
        yield ""
        for number, stage in enumerate(progress.stages):
            is_here = number == progress.current
            if stage.title:
                mark = "done" if stage.is_done else "next" if is_here else ""
                yield f"  {mark:<5} {escape_text(stage.title):<38} {_amount(stage):>33}"
            if every or is_here or not stage.title:
                indent = "    " if stage.title else ""
                for name in stage.lessons:
                    yield from self._lesson_lines(name, progress.next, indent)
        yield ""

    def _find_setups(self, lessons: Iterable[Lesson]) -> list[NeededSetup]:
        from tpustarter.setup.environment import needed_setups

        return needed_setups.find_needed_setups(lessons, learn_next_step.find_lesson_pythons())

    def by_track(self, lessons: Collection[Lesson], prefix: str) -> Iterator[str]:
        tracks: dict[str, list[Lesson]] = {}
        for lesson in lessons:
            tracks.setdefault(_track(lesson), []).append(lesson)
        for track, members in tracks.items():
            yield escape_text(f"{prefix}lessons on {track}").capitalize()
            for lesson in members:
                yield from self._lesson_lines(lesson.id, None, "")
            yield ""

    def other_paths(self, paths: Collection[LessonPath]) -> Iterator[str]:
        if paths:
            yield format_commands("Other paths, to be followed with `tpustarter learn --path ID`")
            for path in paths:
                amount = _amount(self.find_progress(path).whole)
                yield escape_text(f"  {path.id:<15} {path.title:<27} {amount:>34}")
            yield ""

    def end(self, progress: PathProgress | None, left_out: int) -> Iterator[str]:
        if progress and progress.next:
            lesson = self._lessons[progress.next]
            yield escape_text(f"Next: {lesson.title}, {_minutes(lesson)}")
            yield escape_text(f"  tpustarter learn {lesson.id}")
        elif progress:
            yield "You have done all of your path. `tpustarter learn -v` shows what else there is."
        if left_out:
            yield ""
            text = f"`tpustarter learn -v` lists every stage, {left_out} more lessons and the "
            yield from wrap(f"{text}other paths; `tpustarter learn --search TEXT` finds a topic.")

    def _lesson_lines(self, name: str, following: str | None, indent: str) -> Iterator[str]:
        """Yield a lesson's row; if its id is too wide, the title is on the next line."""
        from tpustarter.learning.progress import lesson_progress, solved_exercises

        lesson = self._lessons[name]
        state = lesson_progress.format_lesson_mark(lesson, self._records.get(name))
        mark = "next" if name == following else state if state in ("done", "read") else ""
        mark = "begun" if state.startswith("begun") and not mark else mark
        right = state if state.startswith("begun ") else ""
        if state == "done":
            count = len(solved_exercises.list_unsolved_exercises(lesson, self._records))
            right = f"{count} open" if count else ""
        if known := self._records.get(name) if state == "read" else None:
            right = solved_exercises.format_open_count(known.open_count)
        title = cut_text(escape_text(lesson.title), _TITLE - len(indent) - len(right) + 1)
        left = f"  {indent}{mark:<5} {escape_text(name):<{_ID}}"
        if len(name) > _ID:
            yield left
            left = " " * (len(indent) + _BEFORE_ID + _ID)
        left = f"{left} {title}"
        yield f"{left:<{72 - len(right)}}{right} {_minutes(lesson):>7}"


def _track(lesson: Lesson) -> str:
    return lesson.id.partition("/")[0]


def _minutes(lesson: Lesson) -> str:
    return f"{escape_text(str(lesson.header.get('minutes', '?')))} min"


def _amount(stage: PathPart) -> str:
    if stage.is_begun and not stage.is_done:
        read = f", {stage.read} read" if stage.read else ""
        left = f", {phrases.format_reading_time(stage.left)} left" if stage.left else ""
        return f"{stage.done} of {len(stage.lessons)} done{read}{left}"
    return stage.size_text


def _bar(part: PathPart, width: int = 20) -> str:
    """Return a progress bar of the time done, in ASCII, which every terminal can show."""
    from tpustarter.text import bars

    return f"[{bars.draw_bar(part.done_share, width, 'ascii')}]"
