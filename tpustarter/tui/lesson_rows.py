"""The rows of the list of lessons: by the stages of the path, by track, or by what was searched."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from tpustarter.terminal import visible
from tpustarter.tui import home_rows
from tpustarter.tui.home_rows import title
from tpustarter.tui.lines import MIN_TITLE_WIDTH, Hanging, Lines, typed
from tpustarter.tui.references import texts
from tpustarter.tui.widgets import Row

if TYPE_CHECKING:
    from tpustarter.content import Lesson
    from tpustarter.learning.search import Found, Hit, Parts
    from tpustarter.learning.standing import Standing
    from tpustarter.tui.known import Course

OLD, CHECK, MEANT, EXERCISE = "older tutorials", "check", "did you mean", "exercise"
LOG = "log"
"""The first half of the ids of rows about these: no lesson has such a name."""
FOUND = "bold underline $key"
"""How what was looked for is painted in a text."""
ELSEWHERE = (
    "Try fewer words, or one of them alone: the name of a function, a word of an error message, or "
    "the id of a check. A whole error is explained where you paste it."
)
FRAMEWORKS = {
    "jax": "JAX",
    "torch_xla": "PyTorch",
    "torch_tpu": "PyTorch",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "pytorch": "PyTorch",
}
"""What a lesson is for, by the framework that it needs, else by its track."""
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
"""What a track is about."""


def listed(course: Course, standing: Standing | None, states: Collection[bool]) -> Iterator[Row]:
    """Yield all lessons: those of the path in its stages, then the others by track.

    Args:
        course: The lessons, and how far one is.
        standing: The place on the path that is followed.
        states: Whether lessons are shown that are done, and those that are not.
    """
    groups = [(stage.title, stage.lessons) for stage in standing.stages] if standing else []
    on_path = {name for _, names in groups for name in names}
    others: dict[str, list[str]] = {}
    for name in course.lessons:
        if name not in on_path:
            others.setdefault(name.partition("/")[0], []).append(name)
    tracks = [(_track(track), names) for track, names in others.items()]
    following = standing.next if standing else None
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
                yield title(visible(f"{prefix}{label}"))
            for name in shown:
                yield home_rows.lesson_row(course, name, following, "  ")


def _track(track: str) -> str:
    return TRACKS.get(track, track)


def found(
    course: Course,
    what: Found,
    states: Collection[bool],
    *,
    titles: Mapping[str, str],
    spots: int,
) -> Iterator[Row]:
    """Yield what a search found: what a word means where one was asked for, then lessons.

    Args:
        course: What there is to learn.
        what: What was found.
        states: Whether lessons are shown that are done, and those that are not.
        titles: Of exercises, by id.
        spots: How many sentences are shown of each lesson.
    """
    lessons = [hit for hit in what.of("lesson") if (hit.id in course.done) in states]
    named = [hit for hit in what.hits if what.is_named(hit)]
    groups = [
        list(_words(filter(what.is_asked_for, what.hits))),
        list(_lessons(course, (hit for hit in named if hit in lessons), spots)),
        list(_by_id((hit for hit in named if hit.kind == "check"), "Checks", CHECK)),
        list(_exercises(course, what.text, titles)),
        list(_lessons(course, (hit for hit in lessons if hit not in named), spots)),
        list(_words(hit for hit in what.of("word") if not what.is_asked_for(hit))),
        list(_by_id((hit for hit in what.of("check") if hit not in named), "Checks", CHECK)),
        list(_by_id(what.of("old"), "Older tutorials", OLD)),
    ]
    rows = [row for group in groups if group for row in [Row(None, ""), *group]][1:]
    if what.also:
        also = Content.styled(f"Also looked for: {visible(', '.join(what.also))}", "$muted")
        rows = [Row(None, Hanging("", also)), *rows]
    if rows and not any(hit.is_whole for hit in what.hits):
        rows = [Row(None, "Nothing has all of these words; this has some of them."), *rows]
    yield from rows or _nothing(what)


class Excerpt(Lines):
    """A label, and as much of a sentence as its line has room for."""

    def __init__(self, label: Content, sentence: Content, *, with_found: bool = False) -> None:
        """Take both, and whether what was found has to be seen: then the beginning may give way."""
        self._label, self._sentence, self._with_found = label, sentence, with_found

    def lines(self, width: int) -> list[Content]:
        """Return the line."""
        room, text = max(width - self._label.cell_length, MIN_TITLE_WIDTH), self._sentence
        start, end = next(((a, b) for a, b, style in text.spans if style == FOUND), (0, 0))
        if self._with_found and end >= room:
            begin = min(start - room // 3, len(text) - room)  # so that the line is full
            begin = text.plain.find(" ", begin, start) + 1 or start
            text = Content("…") + text[begin:]
        return [self._label + text.truncate(room, ellipsis=True)]


def log(path: Path) -> Row:
    """Return the row of a log whose path was typed for a search."""
    label = Content.assemble("Explain the error in ", (visible(path.name), "bold"))
    return Row(LOG, Hanging("", label))


def _nothing(what: Found) -> Iterator[Row]:
    """Yield that nothing was found, and what may have been meant, which Enter looks for."""
    yield Row(None, Hanging("", f"Nothing here is about “{visible(what.text)}”."))
    if what.meant:
        meant = Content.styled(visible(what.meant), "bold underline")
        text = Content("Did you mean ") + meant + "? Enter searches for it."
        yield Row(f"{MEANT}#{what.meant}", Hanging("", text))
    else:
        yield Row(None, Hanging("", ELSEWHERE))
    yield Row(None, "Esc shows all lessons.")


def _lessons(course: Course, hits: Iterable[Hit], spots: int) -> Iterator[Row]:
    for number, hit in enumerate(hits):
        if not number:
            yield title("Lessons")
        row = home_rows.lesson_row(course, hit.id, None, "  ", marked(hit.title).stylize("bold"))
        row = replace(row, hang=0)
        tag = _framework(course.lessons[hit.id])
        yield replace(row, right=f"{tag}  {row.right:>6}") if tag else row
        for spot in hit.spots[:spots]:
            sentence = marked(spot.parts)
            label = Content.styled(f"{'':10}{'code: ' if spot.is_code else ''}", "$muted")
            sentence = typed(sentence) if spot.is_code else sentence
            line = Excerpt(label, sentence, with_found=True)
            yield Row(f"{hit.id}#{spot.number}", line)


def _exercises(course: Course, text: str, titles: Mapping[str, str]) -> Iterator[Row]:
    """Yield the exercises whose title and id have every word; one word is too little."""
    typed = re.findall(r"\w+", text.casefold())
    if len(typed) < 2:
        return
    is_first = True
    for lesson in course.lessons.values():
        for exercise in exercises_of(lesson):
            name = titles.get(exercise, "")
            words = re.findall(r"\w+", f"{exercise} {name}".casefold())
            if name and all(any(word.startswith(one) for word in words) for one in typed):
                if is_first:
                    yield title("Exercises")
                is_first = False
                label = Content(" " * 10) + Content.styled(visible(name), "bold")
                yield Row(f"{EXERCISE}#{exercise}", label, visible(lesson.title))


def exercises_of(lesson: Lesson) -> list[str]:
    """Return the ids of a lesson's exercises."""
    return [f"{lesson.id.partition('/')[0]}/{name}" for name in texts(lesson, "exercises")]


def _framework(lesson: Lesson) -> str:
    """Return the framework that a lesson is about; empty where it is about any."""
    return FRAMEWORKS.get(lesson.framework or lesson.id.partition("/")[0], "")


def _words(hits: Iterable[Hit]) -> Iterator[Row]:
    for number, hit in enumerate(hits):
        if not number:
            yield title("Glossary")
        label = Content("  ") + marked(hit.title).stylize("bold") + "  "
        yield Row(f"#{hit.id}", Excerpt(label, marked(hit.text)))


def _by_id(hits: Iterable[Hit], heading: str, kind: str) -> Iterator[Row]:
    """Yield what has an id that people type: checks, and claims of older tutorials."""
    for number, hit in enumerate(hits):
        if not number:
            yield title(heading)
        label = Content.styled(f"  {visible(hit.id)}  ", "bold")
        if kind == OLD:  # its title is what was said then, and not what is true
            label += Content.styled("then: ", "$muted")
        yield Row(f"{kind}#{hit.id}", Excerpt(label, marked(hit.title)))


def marked(parts: Parts) -> Content:
    """Return a text in which what was found is bold, underlined and coloured."""
    return Content("").join(
        Content.styled(visible(text), FOUND if is_found else "") for text, is_found in parts
    )
