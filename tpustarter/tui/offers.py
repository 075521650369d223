"""What a lesson offers in the state in which it is: which keys act now, and what Enter does."""

from __future__ import annotations

from collections.abc import Callable

from tpustarter.tui.lesson_page import LessonPage
from tpustarter.tui.opened import Opened


def of_enter(page: LessonPage) -> str:
    """Return what comes next: a question, the marked block, its gap, the text, or what follows."""
    view = page.marked
    if page.passed_over:
        return "to the question"
    if page.is_at_end and page.is_done:  # as the panel in sight says; r runs a block again
        return "exercise" if page.has_open_exercise else "next lesson"
    if view is None or view.leads_on or not page.is_in_sight(view):
        if not page.is_at_end:
            return "read on"
        if page.has_open and not page.is_done:
            return "next open"
        return "exercise" if page.has_open_exercise else "next lesson"
    if view.code.waits_for_change:  # the editor shows the line that is to be changed
        return "fill the gap" if view.code.has_gap else "change it"
    # What is run is seen first, to the end of its code.
    return "run" if view.code_is_seen(page.region) else "read on"


def where(page: LessonPage) -> str:
    """Return what is out of sight of the marked block, else how far one has read.

    Of a block that fills the screen the rest of its code is below, and then how it stands.
    """
    view = page.marked
    if view is None or not page.is_in_sight(view):
        return page.place
    if of_enter(page) == "read on" and not view.leads_on:
        return f"{view.name_on_page} goes on below"
    return view.state_outside(page.region) or page.place


def of_lesson(
    page: LessonPage, opened: Opened | None, *, running: bool
) -> dict[str, Callable[[], bool]]:
    """Return, by action, what tells whether it works now; the others always do.

    Args:
        page: The lesson's page.
        opened: The lesson, once it is read.
        running: Whether a block runs.
    """
    editing = page.edited is not None

    def can_run() -> bool:
        return bool(page.views) and not running

    def can_jump() -> bool:
        return opened is not None and not editing and page.has_open

    def can_go_on() -> bool:
        return bool(opened and opened.following) and not running

    offers: dict[str, Callable[[], bool]] = {
        "leave_done": lambda: page.is_done_typing and not running,
        "wait": lambda: running,
        "run": can_run,
        "run_to_here": can_run,
        "edit": can_run,
        "choose": lambda: bool(page.views) and not editing,
        "jump": lambda: can_jump() and of_enter(page) != "next open",
        "jump_too": lambda: can_jump() and of_enter(page) == "next open",
        "to_end": lambda: opened is not None and not editing and not page.has_open,
        "explain": lambda: _has_failed(page),
        "reset": lambda: _has_edits(page, passed=False) and not running,
        "undo": lambda: _has_edits(page, passed=True) and not running,
        "redo": lambda: bool(page.marked and page.marked.code.can_restore) and not running,
        "check": lambda: bool(opened and opened.checks) and not running,
        "next": lambda: can_go_on() and not _is_left_open(page) and not _leads_on(page),
        "next_too": lambda: can_go_on() and _leads_on(page),
        "next_now": lambda: can_go_on() and _is_left_open(page),
        "fold": lambda: page.fold is not None and not editing,
        "look_at": lambda: bool(page.asked and page.asked.is_done) and not editing,
        "answer": lambda: bool(page.asked and not page.asked.is_done) and not editing,
        "no_question": lambda: page.asked is None and page.has_open_question and not editing,
        "exercise": lambda: bool(opened and opened.exercises) and not running,
        "words": lambda: bool(opened and opened.refers),
        "setup": lambda: bool(opened and opened.setups) and not running and not editing,
    }
    return offers | ({"back": lambda: True} if editing else {})


def _has_failed(page: LessonPage) -> bool:
    """Return whether the marked block failed where one sees it."""
    view = page.marked
    return bool(view and view.has_failed and page.is_in_sight(view))


def is_wrong(page: LessonPage) -> bool:
    """Return whether the marked block is a task that was tried and is not right yet."""
    view = page.marked
    is_tried = bool(view and view.block.is_try and view.has_ended and not view.has_passed)
    return bool(view and is_tried and page.is_in_sight(view))


def _has_edits(page: LessonPage, *, passed: bool) -> bool:
    """Return whether the marked block, or without one any, is edited and has passed, or not."""
    views = [page.marked] if page.marked else page.views
    return any(view.code.is_edited and view.has_passed == passed for view in views)


def _leads_on(page: LessonPage) -> bool:
    """Return whether Enter goes to the next lesson."""
    return of_enter(page) == "next lesson"


def _is_left_open(page: LessonPage) -> bool:
    """Return whether going on from the end would leave something open."""
    return page.is_at_end and of_enter(page) in ("next open", "exercise")
