"""Texts about an exercise: the verdict, notes about the file, and the next steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from textual.content import Content

from tpustarter.learning.content.exercises import AnswerVerdict, Exercise, State
from tpustarter.learning.progress.lesson_summary import NextLearningStep
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.text_layout import (
    CODE,
    HangingText,
    LaidOutLines,
    status_word,
    style_sentence,
)

STATES = {
    "new": "Not judged yet",
    "begun": "Not judged yet",
    "fail": "Not right yet",
    "pass": "Solved",
    "shown": "You have seen the solution",
}


def format_verdict(
    judged: AnswerVerdict | None, state: State, *, is_typing: bool, achieved: str = ""
) -> Content:
    """Return the verdict on the answer, or the exercise's state if it has not been judged.

    Args:
        judged: The verdict, or None.
        state: The exercise's state.
        is_typing: Whether the editor is open.
        achieved: A description of the solved exercises, shown with a right answer.
    """
    if judged is None:
        edits = "Ctrl+R judges what you type, and Esc ends typing."
        how = edits if is_typing else "Press Enter to edit it here, and Ctrl+R to have it judged."
        return Content(f"{STATES[state]}. {how}")
    if judged.is_right:
        return status_word("pass", "RIGHT") + f"  {achieved}"
    status = judged.result.status
    if judged.result.reason == "interrupted":
        return status_word(status, "STOPPED") + "  by you"
    labels = {"fail": "NOT YET", "error": "BROKEN", "skip": "skip"}
    before = " An earlier answer was right, so it stays solved." if state == "pass" else ""
    return (
        status_word(status, labels.get(status, "NOT RUN")) + f"  {escape_text(judged.why)}{before}"
    )


def format_brief_verdict(
    judged: AnswerVerdict | None, verdict: Content, way: NextLearningStep | None, *, is_old: bool
) -> Content:
    """Return the verdict on one line, for while the user types and its panel may be out of view.

    Args:
        judged: The verdict, or None while the answer runs.
        verdict: The result of `format_verdict`.
        way: The next step, or None until it is known.
        is_old: Whether the user has typed since.
    """
    if judged and judged.is_right:
        then = "Esc, Enter goes on." if way and (way.exercise or way.lesson) else "Esc ends typing."
        verdict = status_word("pass", "RIGHT") + f"  {then}"
    return Content("Before your change: ") + verdict if is_old else verdict


def format_help_hint(judged: AnswerVerdict | None, *, hints: int, is_typing: bool) -> str:
    """Return a sentence about getting help after a wrong answer, or ""."""
    if judged is None or judged.is_right:
        return ""
    first = "To see a hint, press Esc and then h." if is_typing else "Press h for a hint."
    last = "Esc and then s shows the solution." if is_typing else "Press s for the solution."
    return first if hints else last


def format_lines_above(first_line: int) -> Content:
    """Return a note about the lines of the file above the learner's part, if there are any."""
    if first_line == 1:
        return Content("")
    what = phrases.choose_plural(first_line - 1, "Line 1 is", f"Lines 1 to {first_line - 1} are")
    return Content.styled(f"{what} the task's text.", "$muted")


def format_replaced_note(offered: str) -> Content:
    """Return a note about the code that typing replaces, if there is any."""
    if not offered:
        return Content("")
    count = offered.count("\n") + 1
    what = f"the {count} lines that are selected" if count > 1 else offered
    return Content.assemble("What you type replaces ", (what, CODE), ".")


def lay_out_solved_exercise(
    exercise: Exercise, way: NextLearningStep | None, back: str, *, is_typing: bool, has_seen: bool
) -> Iterator[LaidOutLines | Content]:
    """Yield the text below a correct answer: the lesson learned, and the next steps.

    Args:
        exercise: The solved exercise.
        way: The next step, or None until it is known.
        back: The description of the screen to which Esc leads.
        is_typing: Whether the editor is open, in which case Esc closes it first.
        has_seen: Whether the shipped solution is shown.
    """
    if exercise.learned:
        yield HangingText(status_word("done", "You learned  "), style_sentence(exercise.learned))
        yield Content("")
    first = "Esc, " * is_typing
    if way:
        leads_on = way.exercise or way.lesson
        yield HangingText(
            status_word("next", f"{first}Enter  " if leads_on else ""), style_sentence(way.text)
        )
    if not has_seen:
        compare = style_sentence("The shipped solution, to compare with yours")
        yield HangingText(status_word("next", f"{first}s      "), compare)
    yield HangingText(status_word("next", f"{first}Esc    "), style_sentence(f"Back to {back}"))


def format_editor_question(editor: str, file: str, leaving: str) -> str:
    """Return the question before a file is opened in an editor; `leaving` explains how to leave."""
    return (
        f"{editor} opens {file}, and tpustarter waits until you close it. {leaving}\n\n"
        f"Press y to open {editor}, or n to stay here, where e edits the file without it."
    )


def short_path(path: Path | None) -> str:
    """Return a path with `~` for the home folder."""
    if path and path.is_relative_to(Path.home()):
        return f"~/{path.relative_to(Path.home())}"
    return str(path)
