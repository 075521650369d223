"""The rows of the lesson list, by the path's stages and by track, and of search results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from tpustarter.machine import frameworks
from tpustarter.text.terminal import escape_text
from tpustarter.tui.home import home_rows
from tpustarter.tui.home.home_rows import title_row
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import (
    MIN_TITLE_WIDTH,
    HangingText,
    LaidOutLines,
    adapt_commands,
)

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.learning.progress.path_progress import PathProgress
    from tpustarter.learning.search.search import Parts, SearchHit, SearchResult
    from tpustarter.tui.home.course_facts import Course

OLD, CHECK, MEANT, EXERCISE = "older tutorials", "check", "did you mean", "exercise"
LOG = "log"
"""The row ids, up to `#`, of rows that are not lessons; no lesson has such an id."""
FOUND = "bold underline $key"
"""The style of search terms in a text."""
SEARCH_ADVICE = (
    "Try fewer words, or one of them alone: the name of a function, a word of an error message, or "
    "the id of a check. A whole error is explained where you paste it."
)
TRACKS = {
    "start": "Begin",
    "setup": "Set up a machine",
    "jax": "JAX",
    "project": "A language model, step by step",
    "pytorch": "PyTorch",
    "tensorflow": "TensorFlow and Keras",
    "slices": "Slices of several hosts",
    "trouble": "When something goes wrong",
}
"""The tracks' titles."""


def make_lesson_rows(
    course: Course, progress: PathProgress | None, states: Collection[bool]
) -> Iterator[Row]:
    """Yield a row for each lesson, first those on the path by stage, then the others by track.

    Args:
        course: The lessons and the progress.
        progress: The progress on the path.
        states: The lessons to show: True for done ones, False for open ones.
    """
    groups = [(stage.title, stage.lessons) for stage in progress.stages] if progress else []
    on_path = {name for _, names in groups for name in names}
    others: dict[str, list[str]] = {}
    for name in course.lessons:
        if name not in on_path:
            others.setdefault(name.partition("/")[0], []).append(name)
    tracks = [(TRACKS.get(track, track), names) for track, names in others.items()]
    following = progress.next if progress else None
    is_first = True
    for heading, names in [(None, groups), ("Not on your path" if on_path else None, tracks)]:
        for label, members in names:
            shown = [name for name in members if (name in course.done) in states]
            if not shown:
                continue
            if not is_first:
                yield Row(None, "")
            is_first = False
            prefix = f"{heading}: " if heading else ""
            if label:
                yield title_row(escape_text(f"{prefix}{label}"))
            for name in shown:
                yield home_rows.lesson_row(course, name, following, "  ")


def make_result_rows(
    course: Course,
    what: SearchResult,
    states: Collection[bool],
    *,
    titles: Mapping[str, str],
    max_lines: int,
) -> Iterator[Row]:
    """Yield the rows of a search result, in groups.

    Args:
        course: The lessons and the progress.
        what: The search result.
        states: The lessons to show: True for done ones, False for open ones.
        titles: The titles of exercises, by id.
        max_lines: The maximum number of sentences to show for each lesson.
    """
    lessons = [hit for hit in what.select_kind("lesson") if (hit.id in course.done) in states]
    named = [hit for hit in what.hits if what.is_named(hit)]
    words, checks = what.select_kind("word"), what.select_kind("check")
    groups = [
        ("Glossary", _words(filter(what.is_asked_for, what.hits))),
        ("Lessons", _lessons(course, (hit for hit in named if hit in lessons), max_lines)),
        ("Checks", _by_id((hit for hit in named if hit.kind == "check"), CHECK)),
        ("Exercises", _exercises(course, what.text, titles)),
        ("Lessons", _lessons(course, (hit for hit in lessons if hit not in named), max_lines)),
        ("Glossary", _words(hit for hit in words if not what.is_asked_for(hit))),
        ("Checks", _by_id((hit for hit in checks if hit not in named), CHECK)),
        ("Older tutorials", _by_id(what.select_kind("old"), OLD)),
    ]
    rows: list[Row] = []
    for title, group in groups:
        if listed := list(group):
            rows += [Row(None, ""), title_row(title), *listed]
    rows = rows[1:]
    if what.synonyms:
        also = Content.styled(f"Also looked for: {escape_text(', '.join(what.synonyms))}", "$muted")
        rows = [Row(None, HangingText("", also)), *rows]
    if rows and not any(hit.has_every_word for hit in what.hits):
        rows = [Row(None, "Nothing has all of these words; this has some of them."), *rows]
    yield from rows or _nothing(what)


class ExcerptLine(LaidOutLines):
    """A label and as much of a sentence as fits on the line."""

    def __init__(self, label: Content, sentence: Content, *, with_found: bool = False) -> None:
        """Show a sentence; `with_found` cuts off its beginning if the term would not be visible."""
        self._label, self._sentence, self._with_found = label, sentence, with_found

    def lines(self, width: int) -> list[Content]:
        room, text = max(width - self._label.cell_length, MIN_TITLE_WIDTH), self._sentence
        start, end = next(((a, b) for a, b, style in text.spans if style == FOUND), (0, 0))
        if self._with_found and end >= room:
            begin = min(start - room // 3, len(text) - room)  # fill the line
            begin = text.plain.find(" ", begin, start) + 1 or start
            text = Content("…") + text[begin:]
        return [self._label + text.truncate(room, ellipsis=True)]


def make_log_row(path: Path) -> Row:
    """Return the row for a log whose path was typed into the search field."""
    label = Content.assemble("Explain the error in ", (escape_text(path.name), "bold"))
    return Row(LOG, HangingText("", label))


def _nothing(what: SearchResult) -> Iterator[Row]:
    """Yield a note that nothing was found, and a suggested word or advice."""
    yield Row(None, HangingText("", f"Nothing here is about “{escape_text(what.text)}”."))
    if what.meant:
        meant = Content.styled(escape_text(what.meant), "bold underline")
        text = Content("Did you mean ") + meant + "? Enter searches for it."
        yield Row(f"{MEANT}#{what.meant}", HangingText("", text))
    else:
        yield Row(None, HangingText("", SEARCH_ADVICE))
    yield Row(None, "Esc shows all lessons.")


def _lessons(course: Course, hits: Iterable[SearchHit], max_lines: int) -> Iterator[Row]:
    for hit in hits:
        row = home_rows.lesson_row(
            course, hit.id, None, "  ", mark_terms(hit.title).stylize("bold")
        )
        row = replace(row, hang=0)
        tag = _framework(course.lessons[hit.id])
        yield replace(row, right=f"{tag}  {row.right:>6}") if tag else row
        for found_line in hit.lines[:max_lines]:
            sentence = mark_terms(found_line.parts)
            label = Content.styled(f"{'':10}{'code: ' if found_line.is_code else ''}", "$muted")
            sentence = adapt_commands(sentence) if found_line.is_code else sentence
            line = ExcerptLine(label, sentence, with_found=True)
            yield Row(f"{hit.id}#{found_line.number}", line)


def _exercises(course: Course, text: str, titles: Mapping[str, str]) -> Iterator[Row]:
    """Yield the exercises whose title and id contain all typed words, if there are several."""
    typed = re.findall(r"\w+", text.casefold())
    if len(typed) < 2:
        return
    for lesson in course.lessons.values():
        for exercise_name in lesson.exercise_names:
            exercise = f"{lesson.id.partition('/')[0]}/{exercise_name}"
            name = titles.get(exercise, "")
            words = re.findall(r"\w+", f"{exercise} {name}".casefold())
            if name and all(any(word.startswith(one) for word in words) for one in typed):
                label = Content(" " * 10) + Content.styled(escape_text(name), "bold")
                yield Row(f"{EXERCISE}#{exercise}", label, escape_text(lesson.title))


def _framework(lesson: Lesson) -> str:
    """Return the title of a lesson's framework, or "" if it does not have one."""
    track = lesson.id.partition("/")[0]
    known = frameworks.FRAMEWORKS.get(lesson.framework or track)
    return known.title if known else "PyTorch" if track == "pytorch" else ""


def _words(hits: Iterable[SearchHit]) -> Iterator[Row]:
    for hit in hits:
        label = Content("  ") + mark_terms(hit.title).stylize("bold") + "  "
        yield Row(f"#{hit.id}", ExcerptLine(label, mark_terms(hit.text)))


def _by_id(hits: Iterable[SearchHit], kind: str) -> Iterator[Row]:
    """Yield the results that are shown with their id: checks, and claims of older tutorials."""
    for hit in hits:
        label = Content.styled(f"  {escape_text(hit.id)}  ", "bold")
        if kind == OLD:  # the title is the old claim, which may be false
            label += Content.styled("then: ", "$muted")
        yield Row(f"{kind}#{hit.id}", ExcerptLine(label, mark_terms(hit.title)))


def mark_terms(parts: Parts) -> Content:
    """Return a text with its search terms in the style `FOUND`."""
    return Content("").join(
        Content.styled(escape_text(text), FOUND if is_found else "") for text, is_found in parts
    )
