"""The actions available on a lesson's page, and the action of Enter."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property

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
"""The actions of Enter at a lesson's end while a task or an exercise is open."""


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
        if page.needed_setup and not page.is_done:
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
        return f"{view.block.name} goes on below"
    return view.state_outside(page.region) or page.position_text


class AvailableActions:
    """The actions available on a page at one moment, for which the page is read once."""

    def __init__(self, page: LessonPage, opened: OpenedLesson | None, *, running: bool) -> None:
        """Read the page as far as every key needs it.

        Args:
            page: The lesson's page.
            opened: The lesson, or None until it has been read.
            running: Whether a block is running.
        """
        self._page, self._opened, self._running = page, opened, running
        self._editing = page.edited_block is not None

    @cached_property
    def enter(self) -> EnterAction:
        """The action of Enter."""
        return choose_enter_action(self._page)

    @cached_property
    def _has_open(self) -> bool:
        return self._page.has_open

    @cached_property
    def _is_answered(self) -> bool | None:
        """True if the question of the digits is answered, None if there is no question."""
        view = self._page.question
        return view and view.is_done

    @property
    def _can_run(self) -> bool:
        return bool(self._page.views) and not self._running

    @property
    def _can_jump(self) -> bool:
        return self._opened is not None and not self._editing and self._has_open

    @property
    def _can_go_on(self) -> bool:
        return bool(self._opened and self._opened.following) and not self._running

    @property
    def _leads_on(self) -> bool:
        return self.enter is EnterAction.NEXT_LESSON

    @property
    def _is_left_open(self) -> bool:
        """True if the reader is at the lesson's end while a task or exercise is open."""
        return self._page.is_at_end and self.enter in _LEAVES_OPEN

    @cached_property
    def conditions(self) -> dict[str, Callable[[], bool]]:
        """A predicate for each action that decides whether it is available."""
        page, opened, running, editing = self._page, self._opened, self._running, self._editing
        offers: dict[str, Callable[[], bool]] = {
            "leave_done": lambda: page.is_done_typing and not running,
            "wait": lambda: running,
            "run": lambda: self._can_run,
            "run_to_here": lambda: self._can_run,
            "edit": lambda: self._can_run,
            "choose": lambda: bool(page.views) and not editing,
            "jump": lambda: self._can_jump and self.enter is not EnterAction.NEXT_OPEN,
            "jump_too": lambda: self._can_jump and self.enter is EnterAction.NEXT_OPEN,
            "to_end": lambda: opened is not None and not editing and not self._has_open,
            "explain": lambda: _has_failed(page),
            "reset": lambda: _has_edits(page, passed=False) and not running,
            "undo": lambda: _has_edits(page, passed=True) and not running,
            "redo": lambda: (
                bool(page.marked_block and page.marked_block.code.can_restore) and not running
            ),
            "check": lambda: bool(opened and opened.lesson.checks) and not running,
            "next": lambda: self._can_go_on and not self._is_left_open and not self._leads_on,
            "next_too": lambda: self._can_go_on and self._leads_on,
            "next_now": lambda: self._can_go_on and self._is_left_open,
            "fold": lambda: page.fold_to_open is not None and not editing,
            "look_at": lambda: self._is_answered is True and not editing,
            "answer": lambda: self._is_answered is False and not editing,
            "no_question": lambda: (
                self._is_answered is None and page.has_open_question and not editing
            ),
            "exercise": lambda: bool(opened and opened.exercises) and not running,
            "words": lambda: bool(opened and opened.refers),
        }
        return offers | self._list_setup_conditions() | ({"back": lambda: True} if editing else {})

    def _list_setup_conditions(self) -> dict[str, Callable[[], bool]]:
        """Return the predicates of the key that opens a set-up."""
        is_possible = not (self._running or self._editing)
        page, explains = self._page, bool(self._opened and self._opened.setups)

        def sets_up() -> bool:
            return self.enter is EnterAction.SET_UP

        return {
            "setup": lambda: is_possible and explains and not page.needed_setup,
            "setup_first": lambda: is_possible and page.needed_setup is not None and not sets_up(),
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
