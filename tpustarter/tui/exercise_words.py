"""How far the learner is with an exercise, in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from textual.content import Content

from tpustarter.learning.exercises import Exercise, Judged, State
from tpustarter.learning.lesson_end import Way
from tpustarter.terminal import visible
from tpustarter.tui.lines import CODE, Hanging, Lines, prose, word

STATES = {"new": "Not judged yet", "begun": "Not judged yet", "fail": "Not right yet",
          "pass": "Solved", "shown": "You have seen the solution"}  # fmt: skip


def verdict(judged: Judged | None, state: State, *, is_typing: bool, achieved: str = "") -> Content:
    """Return what the answer came to, or what is remembered of an earlier one.

    Args:
        judged: What the answer came to; null for one that was not judged yet.
        state: How far the learner is.
        is_typing: Whether keys are letters now.
        achieved: How many exercises are solved, to be said of one that is right.
    """
    if judged is None:
        edits = "Ctrl+R judges what you type, and Esc ends typing."
        how = edits if is_typing else "Press Enter to edit it here, and Ctrl+R to have it judged."
        return Content(f"{STATES[state]}. {how}")
    if judged.is_right:
        return word("pass", "RIGHT") + f"  {achieved}"
    status = judged.result.status
    if judged.result.reason == "interrupted":
        return word(status, "STOPPED") + "  by you"
    labels = {"fail": "NOT YET", "error": "BROKEN", "skip": "skip"}
    before = " An earlier answer was right, so it stays solved." if state == "pass" else ""
    return word(status, labels.get(status, "NOT RUN")) + f"  {visible(judged.why)}{before}"


def kept(judged: Judged | None, verdict: Content, way: Way | None, *, is_old: bool) -> Content:
    """Return the verdict in one line, for where one types: what scrolls may hide it above.

    Args:
        judged: What the answer came to; null while it runs.
        verdict: The same in words.
        way: What one goes on with, once that is known.
        is_old: Whether something was typed since.
    """
    if judged and judged.is_right:
        then = "Esc, Enter goes on." if way and (way.exercise or way.lesson) else "Esc ends typing."
        verdict = word("pass", "RIGHT") + f"  {then}"
    return Content("Before your change: ") + verdict if is_old else verdict


def help_left(judged: Judged | None, *, hints: int, is_typing: bool) -> str:
    """Return where there is help after an answer that is not right; empty where none is wanted."""
    if judged is None or judged.is_right:
        return ""
    first = "To see a hint, press Esc and then h." if is_typing else "Press h for a hint."
    last = "Esc and then s shows the solution." if is_typing else "Press s for the solution."
    return first if hints else last


def above(first_line: int) -> Content:
    """Return what stands in the file above the line from which it is shown."""
    if first_line == 1:
        return Content("")
    what = "Line 1 is" if first_line == 2 else f"Lines 1 to {first_line - 1} are"
    return Content.styled(f"{what} the task's text.", "$muted")


def replaced(offered: str) -> Content:
    """Return which code gives way to what is typed, if any does."""
    if not offered:
        return Content("")
    count = offered.count("\n") + 1
    what = f"the {count} lines that are selected" if count > 1 else offered
    return Content.assemble("What you type replaces ", (what, CODE), ".")


def end(
    exercise: Exercise, way: Way | None, back: str, *, is_typing: bool, has_seen: bool
) -> Iterator[Lines | Content]:
    """Yield what a right answer has shown, and where it leads.

    Args:
        exercise: That was solved.
        way: What one goes on with, once that is known.
        back: Where Esc leads.
        is_typing: Whether keys are letters, and Esc ends that first.
        has_seen: Whether the shipped solution is shown.
    """
    if exercise.learned:
        yield Hanging(word("done", "You learned  "), prose(exercise.learned))
        yield Content("")
    first = "Esc, " * is_typing
    if way:
        leads_on = way.exercise or way.lesson
        yield Hanging(word("next", f"{first}Enter  " if leads_on else ""), prose(way.text))
    if not has_seen:
        compare = prose("The shipped solution, to compare with yours")
        yield Hanging(word("next", f"{first}s      "), compare)
    yield Hanging(word("next", f"{first}Esc    "), prose(f"Back to {back}"))


def opens(editor: str, file: str, leaving: str) -> str:
    """Return what is asked before an editor opens a file: `leaving` says how to come back."""
    return (
        f"{editor} opens {file}, and tpustarter waits until you close it. {leaving}\n\n"
        f"Press y to open {editor}, or n to stay here, where e edits the file without it."
    )


def short_path(path: Path | None) -> str:
    """Return a path as one types it: `~` for the home folder."""
    if path and path.is_relative_to(Path.home()):
        return f"~/{path.relative_to(Path.home())}"
    return str(path)
