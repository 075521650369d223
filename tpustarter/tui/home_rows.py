"""What Home says, as rows: the next step, the path with its stages, the machine, the last check."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from textual.content import Content

from tpustarter.checking import bars
from tpustarter.learning import solved
from tpustarter.terminal import visible
from tpustarter.tui import painted
from tpustarter.tui.lines import MIN_TEXT_WIDTH, Hanging, Lines, heading, prose, word, wrapped
from tpustarter.tui.widgets import Row

if TYPE_CHECKING:
    from tpustarter.content import Lesson
    from tpustarter.learning.standing import Part, Standing
    from tpustarter.tui.facts import Facts
    from tpustarter.tui.known import Course

BAR_WIDTH = 12
"""Columns that a bar has at least; without them the words stand alone."""
CHIP, VIRTUAL_CHIP = "⠿⠿", "⠯⠽"
"""A chip that is there, and a device that stands in for one: the first is full."""
MOST_CHIPS = 16
"""More than these are not drawn."""
STAGE = "stage:"
"""Before the number of a stage, in the id of its row."""
LEFT, EXERCISE = "left:", "exercise"
"""Before the id of a lesson that is half done, and the id of the row of the next exercise."""
MORE = "more"
"""The id of the row that stands for lessons of the open stage that have no room."""
MOST_IN_STAGE = 8
"""Lessons of a stage, as the linter has it."""
MOST_NAMED = 3
"""Checks with a warning that are named; more of them are only counted."""
MOST_LEFT = 2
"""Lessons that are half done, of those that are named."""


def title(text: str) -> Row:
    """Return the title of a group."""
    return Row(None, heading(text))


def next_rows(known: Course, facts: Facts | None, standing: Standing | None) -> Iterator[Row]:
    """Yield the one next step; its id is always `next`."""
    yield title("Next")
    lesson = known.lessons[standing.next] if standing and standing.next else None
    if needs_setup(facts, lesson):
        text = "There is no JAX here yet. Enter shows the plan first, which changes only ~/tpu."
        yield Row("next", "> Make an environment with the newest JAX", "3 min", _note(text))
    elif lesson and standing:
        note = _note(visible(_place(known, standing, lesson.id)))
        yield Row("next", f"> {visible(lesson.title)}", minutes(lesson), note, hang=2)
    else:
        yield _last_row(known, standing)
    yield from _tpu_rows(known)
    for line in known.trouble.splitlines():
        yield Row(None, Hanging("", prose(line)))


def _last_row(known: Course, standing: Standing | None) -> Row:
    """Return what is next where no lesson is: an exercise that is open, else a check."""
    every = "Every lesson of this path is done."
    if standing and (left := known.open_on(standing)):
        name = known.exercise_title(left[0])
        is_are = "are" if len(left) > 1 else "is"
        text = f"{every} {solved.exercises(len(left))} of it {is_are} open."
        return Row("next", f"> Exercise: {visible(name)}", "", _note(text), hang=2)
    text = f"{every} p shows the other paths."
    return Row("next", "> Check this machine", "1 min", _note(text) if standing else ())


def left_rows(known: Course, standing: Standing) -> Iterator[Row]:
    """Yield what was begun and is open: lessons, and the next exercise."""
    half_done, name = known.half_done(standing), known.next_exercise(standing)
    if standing.next is None:  # then the exercise is what is next
        name = None
    if not half_done and not name:
        return
    yield Row(None, "")
    yield title("Left open")
    for lesson_id in half_done[:MOST_LEFT]:
        row = lesson_row(known, lesson_id, None, "  ")
        yield replace(row, id=f"{LEFT}{lesson_id}")
    if more := len(half_done[MOST_LEFT:]):
        lessons = f"{more} more lesson{'s' * (more > 1)}"
        yield Row(None, Content.styled(f"        and {lessons}, which l lists", "$muted"))
    if name:
        label = Content("  ") + word("next", "open", 6)
        label += f"Exercise: {visible(known.exercise_title(name))}"
        lesson = next(one for one in standing.whole.lessons if name in known.open_in(one))
        more = len(known.exercises_met(standing)) - 1
        others = f", and {more} more" if more and standing.next else ""
        yield Row(EXERCISE, label, f"{visible(known.lessons[lesson].title)}{others}", hang=8)


ALSO = {
    "exercises": ("e", "Practise with an exercise", "a program with a gap"),
    "check": ("c", "Check that this machine computes right", "under a minute"),
    "rehearse": ("r", "Compile for a TPU that you don't have", "see if it fits"),
    "setups": ("s", "Set up a Python, or this machine", "shows a plan first"),
    "explain": ("f", "Explain an error of your program", "paste it, or name a log"),
    "app.search": ("/", "Look up a word or a function", "in all there is"),
}
"""What one can do beside the path, by its action: its key, what it is, and a word about it."""
ALSO_ID = "also:"
"""Before such an action, in the id of its row."""
ALSO_LINES = len(ALSO) + 2


def also_rows() -> Iterator[Row]:
    """Yield what one can do beside the path, for who does not know the keys yet."""
    yield Row(None, "")
    yield title("Beside the path")
    for action, (key, text, about) in ALSO.items():
        label = Content("  ") + word("next", key, 6) + text
        yield Row(f"{ALSO_ID}{action}", label, about, hang=8)


def also_in_brief() -> Iterator[Row]:
    """Yield the same in two lines, where there is no room for more."""
    said = (
        "Beside the path: `e` exercises, `c` check, `r` compile for another TPU, `s` set up, `f` "
        "explain an error, `/` look up a word"
    )
    yield Row(None, Hanging("", prose(said)))


def needs_setup(facts: Facts | None, lesson: Lesson | None) -> bool:
    """Return whether the next lesson needs a framework that is not there yet."""
    needs = str(lesson.header.get("needs") or "") if lesson else ""
    return bool(facts and not facts.has_framework and "framework" in needs)


def _place(known: Course, standing: Standing, lesson_id: str) -> str:
    """Return what is to be said of the next lesson, in a sentence."""
    if lesson_id in known.begun:
        passed, count = known.begun[lesson_id]
        of = f": {passed} of {count} blocks and questions are done" if count else ""
        return f"You have begun it{of}."
    if lesson_id in known.read:
        return f"You have read it: {known.left_of(lesson_id)}."
    if not standing.whole.is_begun:
        return f"The first of {len(standing.whole.lessons)} lessons of your path"
    stage = standing.stages[standing.current or 0]
    number = stage.lessons.index(lesson_id) + 1
    return f"{stage.title or 'This path'}, lesson {number} of {len(stage.lessons)}"


def path_title(standing: Standing) -> Content:
    """Return what a path is called above its stages."""
    return Content.styled(f"Path: {visible(standing.path.title)}", "bold")


def path_rows(
    known: Course, standing: Standing, unfolded: Collection[int], most: int | None = None
) -> Iterator[Row]:
    """Yield how far one is on a path, and its stages, some of them with their lessons.

    Of the stage with the next lesson at most so many are shown, those around it.
    """
    yield Row(None, Progress(standing))
    if achieved := known.achieved(standing):
        yield Row(None, Hanging("", prose(achieved)))
    for number, stage in enumerate(standing.stages):
        if not stage.title:
            yield from _lesson_rows(known, standing, stage, "  ")
            continue
        is_open = number in unfolded
        label = Content(f"{'▼' if is_open else '▶'} ") + _stage_title(stage, standing)
        yield Row(f"{STAGE}{number}", label, _stage_note(known, stage), hang=2)
        if is_open:
            shown = _around(stage.lessons, known.next_on(standing), most)
            yield from _lesson_rows(known, standing, replace(stage, lessons=shown), "    ")
            if more := len(stage.lessons) - len(shown):
                yield Row(MORE, Content.styled(f"          and {more} more", "$muted"))


class Progress(Lines):
    """How much of the time of a path is behind: a bar with a piece for each stage, and words."""

    def __init__(self, standing: Standing) -> None:
        self._stages = [(stage.minutes, stage.share_behind) for stage in standing.stages]
        self._words = standing.whole.words

    def lines(self, width: int) -> list[Content]:
        """Return the bar with the words at its right, where there is room for both.

        They are shorter where the stages have no room beside all of them.
        """
        brief = self._words.replace(" lessons done,", " done,")
        staged = width - len(self._words) - 2 >= 2 * len(self._stages)
        words = self._words if staged else brief
        room = width - len(words) - 2
        if room < BAR_WIDTH:
            return wrapped(Content(self._words), width)
        return [painted.bar(bars.staged(self._stages, room)) + f"  {words}"]


def _stage_title(stage: Part, standing: Standing) -> Content:
    text = visible(stage.title)
    if stage.is_done:
        return Content(text)
    style = "next" if standing.next in stage.lessons else "stage"
    return word(style, text)


def _stage_note(known: Course, stage: Part) -> str:
    if stage.is_done:
        count, left = len(stage.lessons), sum(len(known.open_in(one)) for one in stage.lessons)
        said = f"{count} lesson{'s' * (count > 1)}, done"
        return ", ".join(filter(None, (said, solved.open_words(left))))
    if stage.is_begun:
        return stage.brief
    return stage.amount


def _around(lessons: tuple[str, ...], name: str | None, most: int | None) -> tuple[str, ...]:
    """Return so many lessons around one, with the one before it; all where it is not in them."""
    if most is None or name not in lessons:
        return lessons
    first = min(max(lessons.index(name) - 1, 0), max(len(lessons) - most, 0))
    return lessons[first : first + most]


def _lesson_rows(known: Course, standing: Standing, stage: Part, indent: str) -> Iterator[Row]:
    for lesson_id in stage.lessons:
        yield lesson_row(known, lesson_id, standing.next, indent)


def lesson_row(
    known: Course, lesson_id: str, following: str | None, indent: str, name: Content | None = None
) -> Row:
    """Return a lesson as a row: its state, its title, and what is left of it.

    Args:
        known: The course.
        lesson_id: The lesson.
        following: The lesson that is next on the path.
        indent: Stands before it.
        name: Its title as it is painted; its own where nothing is given.
    """
    lesson = known.lessons[lesson_id]
    state = "next" if lesson_id == following else "read" if lesson_id in known.read else ""
    state = "done" if lesson_id in known.done else state
    head = Content(indent) + word(state, state, 6)
    label = head + (name or visible(lesson.title))
    begun = ""
    if lesson_id in known.begun:
        passed, count = known.begun[lesson_id]
        begun = f"begun {passed} of {count}  " if count else "begun  "
    if state == "done":
        left = solved.open_words(len(known.open_in(lesson_id)))
    elif lesson_id in known.read:
        left = known.left_of(lesson_id)
    else:
        left = begun + f"{minutes(lesson):>6}"
    return Row(lesson_id, label, left, hang=head.cell_length)


def minutes(lesson: Lesson) -> str:
    """Return how long a lesson takes, in words."""
    return f"{visible(str(lesson.header.get('minutes', '?')))} min"


class Drawn(Lines):
    """The chips of a machine, in two rows, and a text beside them."""

    def __init__(self, chips: int, text: str, *, on_tpu: bool) -> None:
        """Take their number, and whether they are there or virtual devices stand in for them."""
        chip, style = (CHIP, "$pass") if on_tpu else (VIRTUAL_CHIP, "$muted")
        columns = -(-chips // 2) if chips > 2 else chips
        counts = [columns, chips - columns] if chips > columns else [columns]
        self._rows = [Content.styled(" ".join([chip] * count), style) for count in counts]
        self._text = Content(text)

    def lines(self, width: int) -> list[Content]:
        """Return the rows, each with a line of the text; the text alone where it is squeezed."""
        indent = self._rows[0].cell_length + 3
        if width - indent < MIN_TEXT_WIDTH:
            return wrapped(self._text, width)
        said = wrapped(self._text, width - indent)
        rows = [*self._rows, *[Content("")] * (len(said) - len(self._rows))]
        said += [Content("")] * (len(rows) - len(said))
        return [
            row.pad_right(indent - row.cell_length) + line
            for row, line in zip(rows, said, strict=True)
        ]


def panel_lines(facts: Facts | None) -> Iterator[Lines]:
    """Yield what is known of the machine, with its chips drawn."""
    if facts is None or not 0 < facts.chips <= MOST_CHIPS:
        yield from machine_lines(facts)
        return
    (name, text), *_ = facts.rows
    said = f"{name} {text}" if facts.on_tpu else text
    yield Drawn(facts.chips, said, on_tpu=facts.on_tpu)
    yield Hanging("", "")
    yield from list(machine_lines(facts))[1:]


def machine_lines(facts: Facts | None, indent: str = "") -> Iterator[Lines]:
    """Yield what is known of the machine."""
    known = facts.rows if facts else (("", "looking ..."),)
    width = max(8, *(len(name) for name, _ in known), 0)
    for name, text in known:
        yield Hanging(f"{indent}{name:<{width}} ", text)


def check_lines(check: dict[str, Any] | None, indent: str = "") -> Iterator[Lines]:
    """Yield what the last check said, and when that was."""
    if check is None:
        yield Hanging(indent, "None yet. Press c to run one.")
        return
    yield from _came_to(check, indent)
    if isinstance(before := check.get("before"), dict):
        yield Hanging(indent, "")
        yield from _came_to(cast("dict[str, Any]", before), indent)


def _came_to(check: dict[str, Any], indent: str) -> Iterator[Lines]:
    if when := _when(check):
        yield Hanging(indent, when)
    said = str(check.get("headline", ""))
    wrong = check.get("wrong")
    for status, words in (("fail", r"\d+ do(?:es)? not"), ("warn", r"\d+ ha(?:s a|ve) warnings?")):
        names = cast("dict[str, list[str]]", wrong).get(status) if isinstance(wrong, dict) else None
        if names and len(names) <= MOST_NAMED:
            said = re.sub(
                f"({words})", lambda found, of=names: f"{found[1]} ({', '.join(of)})", said
            )
    yield Hanging(indent, prose(said))


def _when(check: dict[str, Any]) -> str:
    try:
        time = datetime.fromisoformat(str(check.get("when"))).astimezone()
    except ValueError:
        return ""
    when = f"{time:%Y-%m-%d %H:%M}, level {visible(str(check.get('level', '')))}"
    return f"{when}, in {visible(str(python))}" if (python := check.get("python")) else when


def group(name: str, lines: Iterator[Lines]) -> Iterator[Row]:
    """Yield a group of lines with its title, as rows that cannot be chosen."""
    yield Row(None, "")
    yield title(name)
    for line in lines:
        yield Row(None, line)


def _tpu_rows(known: Course) -> Iterator[Row]:
    """Yield what the ledger of TPUs says, and whether one could not be read."""
    if known.tpus:
        one = known.tpus == 1
        what = "1 TPU" if one else f"{known.tpus} TPUs"
        text = f"{what} of Google Cloud may be billed: u shows {'it' if one else 'them'}"
        yield Row("tpus", word("warn", text))
    if known.unread:
        text = "A ledger of TPUs could not be read, so more may be billed: u says where it is"
        yield Row("tpus-unread", Hanging("", word("warn", text)))


def _note(text: str) -> tuple[Lines, ...]:
    return (Hanging("  ", Content.styled(text, "$muted")),)
