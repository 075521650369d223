"""The home screen's rows: the next step, the path's stages, the machine, and the last check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING

from textual.content import Content
from textual.geometry import Size

from tpustarter.core.json_values import entries_of_type, is_object
from tpustarter.learning.progress import solved_exercises
from tpustarter.text import bars, phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import (
    MIN_TEXT_WIDTH,
    HangingText,
    LaidOutLines,
    colour_bar,
    group_heading,
    status_word,
    style_sentence,
    wrap_text,
)

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.learning.progress.path_progress import PathPart, PathProgress
    from tpustarter.tui.home.course_facts import Course
    from tpustarter.tui.home.machine_facts import MachineFacts

BAR_WIDTH = 12
"""Minimum width of a progress bar, in columns; otherwise only the words are shown."""
CHIP, VIRTUAL_CHIP = "⠿⠿", "⠯⠽"
"""The symbols for a chip, with all dots, and for a virtual device."""
MOST_CHIPS = 16
"""Maximum number of chips that are drawn."""
STAGE = "stage:"
"""The prefix of a stage's row id, which is followed by its number."""
UNFINISHED, EXERCISE = "left:", "exercise"
"""The prefix of a half-done lesson's row id, and the id of the next exercise's row."""
MORE = "more"
"""The id of the row for an open stage's lessons that do not fit."""
MOST_IN_STAGE = 8
"""Maximum number of lessons in a stage, as in the linter."""
MOST_NAMED = 3
"""Maximum number of checks with the same status that are named; more are only counted."""
MOST_LEFT = 2
"""Maximum number of half-done lessons that are named."""
LINES_ABOVE_STAGES = 6
"""Number of lines above the stages, for the next step and the progress."""
ACTIVITIES_HEIGHT = 35
"""Minimum screen height, in lines, for showing other activities."""
FEWEST_IN_STAGE = 2
"""Minimum number of lessons shown of the stage with the next lesson."""


def title_row(text: str) -> Row:
    """Return the title row of a group."""
    return Row(None, group_heading(text))


def next_step_rows(
    known: Course, facts: MachineFacts | None, progress: PathProgress | None
) -> Iterator[Row]:
    """Yield the rows of the next step, whose id is always `next`."""
    yield title_row("Next")
    lesson = known.lessons[progress.next] if progress and progress.next else None
    if needs_setup(facts, lesson):
        text = "There is no JAX here yet. Enter shows the plan first, which changes only ~/tpu."
        yield Row("next", "> Make an environment with the newest JAX", "3 min", _note(text))
    elif lesson and progress:
        note = _note(escape_text(_place(known, progress, lesson.id)))
        for sentence in _describe_setups(known, facts, progress):
            note = (*note, HangingText("  ", style_sentence(sentence).stylize_before("$muted")))
        yield Row("next", f"> {escape_text(lesson.title)}", format_minutes(lesson), note, hang=2)
    else:
        yield _last_row(known, progress)
    yield from _tpu_rows(known)
    for line in known.trouble.splitlines():
        yield Row(None, HangingText("", style_sentence(line)))


def _describe_setups(
    known: Course, facts: MachineFacts | None, progress: PathProgress
) -> Iterator[str]:
    """Yield a sentence on each set-up that a path lacks, at its start and where it is needed."""
    if facts is None:
        return
    from tpustarter.setup.environment import needed_setups  # late, for a fast first paint

    on_path = [known.lessons[name] for name in progress.whole.lessons]
    for setup in needed_setups.find_needed_setups(on_path, facts.pythons):
        is_next = progress.next in setup.blocked
        if setup.blocked and (is_next or not progress.whole.is_begun):
            brief = setup.describe_briefly(len(on_path))
            remedy = f" `{setup.command}` {setup.purpose}." if setup.older else ""
            yield f"{brief}{remedy} `s` lists set-ups."


def _last_row(known: Course, progress: PathProgress | None) -> Row:
    """Return the row for a path without a next lesson: an unsolved exercise, or else a check."""
    every = "Every lesson of this path is done."
    if progress and (left := known.list_unsolved_on_path(progress)):
        name = known.find_exercise_title(left[0])
        exercises = phrases.format_count(len(left), "exercise of it is", "exercises of it are")
        text = f"{every} {exercises} open."
        return Row("next", f"> Exercise: {escape_text(name)}", "", _note(text), hang=2)
    text = f"{every} p shows the other paths."
    return Row("next", "> Check this machine", "1 min", _note(text) if progress else ())


def make_unfinished_rows(known: Course, progress: PathProgress) -> Iterator[Row]:
    """Yield the rows of half-done lessons and of the next exercise."""
    half_done, name = known.list_half_done(progress), known.find_next_exercise(progress)
    if progress.next is None:  # the exercise is the next step itself
        name = None
    if not half_done and not name:
        return
    yield Row(None, "")
    yield title_row("Left open")
    for lesson_id in half_done[:MOST_LEFT]:
        row = lesson_row(known, lesson_id, None, "  ")
        yield replace(row, id=f"{UNFINISHED}{lesson_id}")
    if more := len(half_done[MOST_LEFT:]):
        lessons = phrases.format_count(more, "more lesson")
        yield Row(None, Content.styled(f"        and {lessons}, which l lists", "$muted"))
    if name:
        label = Content("  ") + status_word("next", "open", 6)
        label += f"Exercise: {escape_text(known.find_exercise_title(name))}"
        lesson = next(
            one for one in progress.whole.lessons if name in known.list_unsolved_in_lesson(one)
        )
        more = len(known.list_unlocked_exercises(progress)) - 1
        others = f", and {more} more" if more and progress.next else ""
        yield Row(EXERCISE, label, f"{escape_text(known.lessons[lesson].title)}{others}", hang=8)


ALSO = {
    "exercises": ("e", "Practise with an exercise", "a program with a gap"),
    "check": ("c", "Check that this machine computes right", "under a minute"),
    "rehearse": ("r", "Compile for a TPU that you don't have", "see if it fits"),
    "setups": ("s", "Set up a Python, or this machine", "shows a plan first"),
    "explain": ("f", "Explain an error of your program", "paste it, or name a log"),
    "app.search": ("/", "Look up a word or a function", "in all there is"),
}
"""Activities besides the path, keyed by action: the key, the activity, and a note."""
ALSO_ID = "also:"
"""The prefix of an activity's row id."""
ALSO_LINES = len(ALSO) + 2


def make_activity_rows() -> Iterator[Row]:
    """Yield a row for each activity besides the path, for users who do not know the keys."""
    yield Row(None, "")
    yield title_row("Beside the path")
    for action, (key, text, about) in ALSO.items():
        label = Content("  ") + status_word("next", key, 6) + text
        yield Row(f"{ALSO_ID}{action}", label, about, hang=8)


def make_brief_activity_rows() -> Iterator[Row]:
    """Yield the activities as one sentence, for when `make_activity_rows` does not fit."""
    said = (
        "Beside the path: `e` exercises, `c` check, `r` compile for another TPU, `s` set up, `f` "
        "explain an error, `/` look up a word"
    )
    yield Row(None, HangingText("", style_sentence(said)))


def choose_open_stages(progress: PathProgress, following: str | None, free: int) -> set[int]:
    """Return the stage with the next lesson, and the following stages that fit.

    Args:
        progress: The progress on the path.
        following: The next lesson.
        free: Number of lines of the list that other rows do not need.
    """
    stages = progress.stages
    current = next((n for n, stage in enumerate(stages) if following in stage.lessons), None)
    if current is None:
        return set()
    free -= LINES_ABOVE_STAGES + len(stages) + len(stages[current].lessons)
    opened = {current}
    for number, stage in enumerate(stages[current + 1 :], current + 1):
        free -= len(stage.lessons)
        if free < 0:
            break
        opened.add(number)
    return opened


def add_activities(
    above: list[Row], path: Callable[[int | None], list[Row]], size: Size, *, is_whole: bool
) -> list[Row]:
    """Return the rows with other activities below the path, or above it if they do not fit.

    Args:
        above: The rows above the path.
        path: Returns the path's rows; its argument limits the lessons of the current stage.
        size: The list's size.
        is_whole: Whether an open stage shows all of its lessons.
    """
    most = [None] if is_whole else [None, *range(MOST_IN_STAGE - 1, FEWEST_IN_STAGE - 1, -1)]
    brief = [*make_brief_activity_rows()]
    for also, count in product(([*make_activity_rows()], [Row(None, ""), *brief]), most):
        rows = [*above, *path(count), *also]
        if sum(len(row.line().lines(size.width - 2)) for row in rows) <= size.height:
            return rows
    return [*above, *brief, Row(None, ""), *path(most[-1])]


def needs_setup(facts: MachineFacts | None, lesson: Lesson | None) -> bool:
    """Return whether the next lesson needs a framework that is not installed."""
    needs = str(lesson.header.get("needs") or "") if lesson else ""
    return bool(facts and not facts.has_framework and "framework" in needs)


def _place(known: Course, progress: PathProgress, lesson_id: str) -> str:
    """Return a sentence about the next lesson, with its state or its position on the path."""
    if lesson_id in known.lessons_begun:
        passed, count = known.lessons_begun[lesson_id]
        of = f": {passed} of {count} blocks and questions are done" if count else ""
        return f"You have begun it{of}."
    if lesson_id in known.lessons_read:
        return f"You have read it: {known.describe_open_tasks(lesson_id)}."
    if not progress.whole.is_begun:
        return f"The first of {len(progress.whole.lessons)} lessons of your path"
    stage = progress.stages[progress.current or 0]
    number = stage.lessons.index(lesson_id) + 1
    return f"{stage.title or 'This path'}, lesson {number} of {len(stage.lessons)}"


def path_title(progress: PathProgress) -> Content:
    """Return the heading of a path: its title in bold."""
    return Content.styled(f"Path: {escape_text(progress.path.title)}", "bold")


def path_rows(
    known: Course, progress: PathProgress, unfolded: Collection[int], most: int | None = None
) -> Iterator[Row]:
    """Yield the progress on a path and its stages, with the lessons of the `unfolded` stages.

    The stage with the next lesson shows at most `most` lessons around it.
    """
    yield Row(None, PathBar(progress))
    if achieved := known.describe_achievements(progress):
        yield Row(None, HangingText("", style_sentence(achieved)))
    for number, stage in enumerate(progress.stages):
        if not stage.title:
            yield from _lesson_rows(known, progress, stage, "  ")
            continue
        is_open = number in unfolded
        label = Content(f"{'▼' if is_open else '▶'} ") + _stage_title(stage, progress)
        yield Row(f"{STAGE}{number}", label, _stage_note(known, stage), hang=2)
        if is_open:
            shown = _around(stage.lessons, known.find_next_lesson(progress), most)
            yield from _lesson_rows(known, progress, replace(stage, lessons=shown), "    ")
            if more := len(stage.lessons) - len(shown):
                yield Row(MORE, Content.styled(f"          and {more} more", "$muted"))


class PathBar(LaidOutLines):
    """The progress on a path: a bar with a part for each stage, and words."""

    def __init__(self, progress: PathProgress) -> None:
        self._stages = [(stage.minutes, stage.done_share) for stage in progress.stages]
        self._words = progress.whole.words

    def lines(self, width: int) -> list[Content]:
        """Return the bar with the words at its right, or only the words if they do not fit.

        The words are shortened if the stages need the space.
        """
        brief = self._words.replace(" lessons done,", " done,")
        staged = width - len(self._words) - 2 >= 2 * len(self._stages)
        words = self._words if staged else brief
        room = width - len(words) - 2
        if room < BAR_WIDTH:
            return wrap_text(Content(self._words), width)
        return [colour_bar(bars.draw_staged_bar(self._stages, room)) + f"  {words}"]


def _stage_title(stage: PathPart, progress: PathProgress) -> Content:
    text = escape_text(stage.title)
    if stage.is_done:
        return Content(text)
    style = "next" if progress.next in stage.lessons else "stage"
    return status_word(style, text)


def _stage_note(known: Course, stage: PathPart) -> str:
    if stage.is_done:
        left = sum(len(known.list_unsolved_in_lesson(one)) for one in stage.lessons)
        said = f"{phrases.format_count(len(stage.lessons), 'lesson')}, done"
        return ", ".join(filter(None, (said, solved_exercises.format_unsolved_count(left))))
    if stage.is_begun:
        return stage.progress_text
    return stage.size_text


def _around(lessons: tuple[str, ...], name: str | None, most: int | None) -> tuple[str, ...]:
    """Return `most` lessons starting just before `name`, or all if it is not among them."""
    if most is None or name not in lessons:
        return lessons
    first = min(max(lessons.index(name) - 1, 0), max(len(lessons) - most, 0))
    return lessons[first : first + most]


def _lesson_rows(
    known: Course, progress: PathProgress, stage: PathPart, indent: str
) -> Iterator[Row]:
    for lesson_id in stage.lessons:
        yield lesson_row(known, lesson_id, progress.next, indent)


def lesson_row(
    known: Course, lesson_id: str, following: str | None, indent: str, name: Content | None = None
) -> Row:
    """Return a lesson's row, with its state, its title, and its open items or duration.

    Args:
        known: The course.
        lesson_id: The lesson's id.
        following: The id of the path's next lesson.
        indent: The text before the state.
        name: The styled title; None for the plain title.
    """
    lesson = known.lessons[lesson_id]
    state = "next" if lesson_id == following else "read" if lesson_id in known.lessons_read else ""
    state = "done" if lesson_id in known.done else state
    head = Content(indent) + status_word(state, state, 6)
    label = head + (name or escape_text(lesson.title))
    begun = ""
    if lesson_id in known.lessons_begun:
        passed, count = known.lessons_begun[lesson_id]
        begun = f"begun {passed} of {count}  " if count else "begun  "
    if state == "done":
        left = solved_exercises.format_unsolved_count(len(known.list_unsolved_in_lesson(lesson_id)))
    elif lesson_id in known.lessons_read:
        left = known.describe_open_tasks(lesson_id)
    else:
        left = begun + f"{format_minutes(lesson):>6}"
    return Row(lesson_id, label, left, hang=head.cell_length)


def format_minutes(lesson: Lesson) -> str:
    """Format a lesson's duration."""
    return f"{escape_text(str(lesson.header.get('minutes', '?')))} min"


class ChipDrawing(LaidOutLines):
    """A drawing of a machine's chips in two rows, with a text to its right."""

    def __init__(self, chips: int, text: str, *, on_tpu: bool) -> None:
        """Draw chips if `on_tpu` is True, and virtual devices otherwise."""
        chip, style = (CHIP, "$pass") if on_tpu else (VIRTUAL_CHIP, "$muted")
        columns = -(-chips // 2) if chips > 2 else chips
        counts = [columns, chips - columns] if chips > columns else [columns]
        self._rows = [Content.styled(" ".join([chip] * count), style) for count in counts]
        self._text = Content(text)

    def lines(self, width: int) -> list[Content]:
        """Return the rows with the lines of the text, or only the text if it would not fit."""
        indent = self._rows[0].cell_length + 3
        if width - indent < MIN_TEXT_WIDTH:
            return wrap_text(self._text, width)
        said = wrap_text(self._text, width - indent)
        rows = [*self._rows, *[Content("")] * (len(said) - len(self._rows))]
        said += [Content("")] * (len(rows) - len(said))
        return [
            row.pad_right(indent - row.cell_length) + line
            for row, line in zip(rows, said, strict=True)
        ]


def list_machine_panel_lines(facts: MachineFacts | None) -> Iterator[LaidOutLines]:
    """Yield the facts about the machine, with a drawing of its chips."""
    if facts is None or not 0 < facts.chips <= MOST_CHIPS:
        yield from machine_lines(facts)
        return
    (name, text), *_ = facts.rows
    said = f"{name} {text}" if facts.on_tpu else text
    yield ChipDrawing(facts.chips, said, on_tpu=facts.on_tpu)
    yield HangingText("", "")
    yield from list(machine_lines(facts))[1:]


def machine_lines(facts: MachineFacts | None, indent: str = "") -> Iterator[LaidOutLines]:
    """Yield a line for each fact about the machine, which begins with the fact's name."""
    known = facts.rows if facts else (("", "looking ..."),)
    width = max(8, *(len(name) for name, _ in known), 0)
    for name, text in known:
        yield HangingText(f"{indent}{name:<{width}} ", text)


def check_lines(check: dict[str, object] | None, indent: str = "") -> Iterator[LaidOutLines]:
    """Yield the time and the result of the last check, and of the one before if it was saved."""
    if check is None:
        yield HangingText(indent, "None yet. Press c to run one.")
        return
    yield from _list_run_lines(check, indent)
    if is_object(before := check.get("before")):
        yield HangingText(indent, "")
        yield from _list_run_lines(before, indent)


def _list_run_lines(check: dict[str, object], indent: str) -> Iterator[LaidOutLines]:
    if when := _when(check):
        yield HangingText(indent, when)
    yield HangingText(indent, style_sentence(_headline(check)))


def _headline(check: dict[str, object]) -> str:
    """Return a run's headline, with the names of failed checks and of warnings if they are few."""
    from tpustarter.checking.results import headline  # late, for a fast first paint

    summary, wrong = check.get("summary"), check.get("wrong")
    summary = headline.read_summary(summary) if is_object(summary) else None
    if summary is None:
        return str(check.get("headline", ""))
    ids = entries_of_type(wrong, list[str])
    named = {status: some for status, some in ids.items() if len(some) <= MOST_NAMED}
    return headline.format_run_summary(summary, named)


def _when(check: dict[str, object]) -> str:
    try:
        time = datetime.fromisoformat(str(check.get("when"))).astimezone()
    except ValueError:
        return ""
    when = f"{time:%Y-%m-%d %H:%M}, level {escape_text(str(check.get('level', '')))}"
    return f"{when}, in {escape_text(str(python))}" if (python := check.get("python")) else when


def group_rows(name: str, lines: Iterator[LaidOutLines]) -> Iterator[Row]:
    """Yield a group of lines with its title, as rows that cannot be selected."""
    yield Row(None, "")
    yield title_row(name)
    for line in lines:
        yield Row(None, line)


def _tpu_rows(known: Course) -> Iterator[Row]:
    """Yield a row for TPUs that may be billed, and a row for unreadable ledgers."""
    if known.tpus:
        one = known.tpus == 1
        what = "1 TPU" if one else f"{known.tpus} TPUs"
        text = f"{what} of Google Cloud may be billed: u shows {'it' if one else 'them'}"
        yield Row("tpus", status_word("warn", text))
    if known.unread:
        text = "A ledger of TPUs could not be read, so more may be billed: u says where it is"
        yield Row("tpus-unread", HangingText("", status_word("warn", text)))


def _note(text: str) -> tuple[LaidOutLines, ...]:
    return (HangingText("  ", Content.styled(text, "$muted")),)
