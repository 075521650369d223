"""The actions available on a lesson's page, and the action of Enter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial

from tpustarter.tui.lesson.opened_lesson import OpenedLesson
from tpustarter.tui.lesson.page.lesson_page import LessonPage


class EnterAction(Enum):
    """The action of Enter in a lesson."""

    QUESTION = "question"
    RUN = "run"
    FILL_GAP = "fill_gap"
    CHANGE = "change"
    READ_ON = "read_on"
    NEXT_OPEN = "next_open"
    EXERCISE = "exercise"
    NEXT_LESSON = "next_lesson"
    SET_UP = "set_up"


_LEAVES_OPEN = (EnterAction.NEXT_OPEN, EnterAction.EXERCISE, EnterAction.SET_UP)
"""What Enter does at a lesson's end while a task or an exercise is open."""


def choose_enter_action(page: LessonPage) -> EnterAction:
    """Return the action of Enter in the page's current state."""
    what_follows = EnterAction.EXERCISE if page.has_open_exercise else EnterAction.NEXT_LESSON
    view = page.marked_block
    if page.skipped_question:
        return EnterAction.QUESTION
    if page.is_at_end and page.is_done:  # as shown in the end panel; r runs a block again
        return what_follows
    if view is None or view.state.is_passable or not page.is_in_sight(view):
        if not page.is_at_end:
            return EnterAction.READ_ON
        if page.needs_setup and not page.is_done:
            return EnterAction.SET_UP
        if page.has_open and not page.is_done:
            return EnterAction.NEXT_OPEN
        return what_follows
    if view.code.waits_for_change:  # the editor selects the line to change
        return EnterAction.FILL_GAP if view.code.has_gap else EnterAction.CHANGE
    # Code is run only after the reader has seen all of it.
    return EnterAction.RUN if view.code_is_seen(page.region) else EnterAction.READ_ON


def format_position(page: LessonPage) -> str:
    """Return the marked block's state if it is out of view, otherwise the reading progress.

    For a block taller than the screen, first note that its code continues below.
    """
    view = page.marked_block
    if view is None or not page.is_in_sight(view):
        return page.position_text
    if choose_enter_action(page) is EnterAction.READ_ON and not view.state.is_passable:
        return f"{view.name_on_page} goes on below"
    return view.state_outside(page.region) or page.position_text


@dataclass(frozen=True)
class AvailableActions:
    """The actions available on a page at one moment, for which the page is read once."""

    enter: Callable[[], EnterAction]
    """Returns the action of Enter."""
    conditions: dict[str, Callable[[], bool]]
    """A predicate for each action that decides whether it is available."""


def find_available_actions(
    page: LessonPage, opened: OpenedLesson | None, *, running: bool
) -> AvailableActions:
    """Return the actions available now.

    Args:
        page: The lesson's page.
        opened: The lesson, or None until it has been read.
        running: Whether a block is running.
    """
    editing = page.edited_block is not None
    enter = cache(partial(choose_enter_action, page))
    has_open = cache(lambda: page.has_open)

    def can_run() -> bool:
        return bool(page.views) and not running

    def can_jump() -> bool:
        return opened is not None and not editing and has_open()

    def can_go_on() -> bool:
        return bool(opened and opened.following) and not running

    def leads_on() -> bool:
        return enter() is EnterAction.NEXT_LESSON

    def left_open() -> bool:
        return page.is_at_end and enter() in _LEAVES_OPEN

    @cache
    def is_answered() -> bool | None:
        """Return whether the question of the digits is answered, or None without one."""
        view = page.question
        return view and view.is_done

    offers: dict[str, Callable[[], bool]] = {
        "leave_done": lambda: page.is_done_typing and not running,
        "wait": lambda: running,
        "run": can_run,
        "run_to_here": can_run,
        "edit": can_run,
        "choose": lambda: bool(page.views) and not editing,
        "jump": lambda: can_jump() and enter() is not EnterAction.NEXT_OPEN,
        "jump_too": lambda: can_jump() and enter() is EnterAction.NEXT_OPEN,
        "to_end": lambda: opened is not None and not editing and not has_open(),
        "explain": lambda: _has_failed(page),
        "reset": lambda: _has_edits(page, passed=False) and not running,
        "undo": lambda: _has_edits(page, passed=True) and not running,
        "redo": lambda: (
            bool(page.marked_block and page.marked_block.code.can_restore) and not running
        ),
        "check": lambda: bool(opened and opened.checks) and not running,
        "next": lambda: can_go_on() and not left_open() and not leads_on(),
        "next_too": lambda: can_go_on() and leads_on(),
        "next_now": lambda: can_go_on() and left_open(),
        "fold": lambda: page.fold_to_open is not None and not editing,
        "look_at": lambda: is_answered() is True and not editing,
        "answer": lambda: is_answered() is False and not editing,
        "no_question": lambda: is_answered() is None and page.has_open_question and not editing,
        "exercise": lambda: bool(opened and opened.exercises) and not running,
        "words": lambda: bool(opened and opened.refers),
    }
    offers |= _list_setup_conditions(page, opened, enter, is_possible=not (running or editing))
    return AvailableActions(enter, offers | ({"back": lambda: True} if editing else {}))


def _list_setup_conditions(
    page: LessonPage,
    opened: OpenedLesson | None,
    enter: Callable[[], EnterAction],
    *,
    is_possible: bool,
) -> dict[str, Callable[[], bool]]:
    """Return the predicates of the key that opens a set-up; none holds unless `is_possible`."""
    explains = bool(opened and opened.setups)

    def sets_up() -> bool:
        return enter() is EnterAction.SET_UP

    return {
        "setup": lambda: is_possible and explains and not page.needs_setup,
        "setup_first": lambda: is_possible and page.needs_setup and not sets_up(),
        "setup_too": lambda: is_possible and sets_up(),
    }


def _has_failed(page: LessonPage) -> bool:
    view = page.marked_block
    return bool(view and view.state.has_failed and page.is_in_sight(view))


def is_failed_task(page: LessonPage) -> bool:
    """Return whether the marked block is a task whose last attempt has failed."""
    view = page.marked_block
    is_tried = bool(
        view and view.block.is_try and view.state.has_ended and not view.state.has_passed
    )
    return bool(view and is_tried and page.is_in_sight(view))


def _has_edits(page: LessonPage, *, passed: bool) -> bool:
    """Return whether the marked block, or any block if none is marked, has edits.

    Only blocks whose code has passed are considered if `passed` is True, and only others if not.
    """
    views = [page.marked_block] if page.marked_block else page.views
    return any(view.code.is_edited and view.state.has_passed == passed for view in views)
