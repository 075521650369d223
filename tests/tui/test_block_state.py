"""The state of a block, as its runs and edits change it, without an app."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import structure
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.run.block_results import BlockResult, Status
from tpustarter.tui.lesson.block import block_state
from tpustarter.tui.lesson.block.block_state import BlockState, EarlierResult

OWN = "print(1)"
PASSED = "has_passed has_ended is_done is_passable"
FAILED = "has_ended has_failed is_passable"
ENDED = "has_ended is_passable"


@dataclass
class TypedCode:
    """Code of a block that a test sets directly, without an editor."""

    text: str = OWN
    is_try: bool = False
    is_outdated: bool = False
    has_gap: bool = False
    is_editing: bool = False

    @property
    def exact_code(self) -> str:
        """Return the code that is run."""
        return self.text

    @property
    def is_edited(self) -> bool:
        """Return whether the code differs from the lesson's."""
        return self.text != OWN

    @property
    def waits_for_change(self) -> bool:
        """Return whether the code is the unchanged code of a task."""
        return self.is_try and not self.is_edited


def state_of(code: TypedCode, before: str | None = None) -> BlockState:
    """Return the state of a block with this code; `before` is its status in earlier sessions."""
    answer = "print(2)" if code.is_try else None
    block = Block(id="one", code=OWN, line=1, timeout_s=1.0, expected=(), answer=answer)
    return BlockState(block, code, EarlierResult(before, None, None), None)


def run(state: BlockState, status: Status, **more: object) -> None:
    """Run the present code with this result."""
    state.begin()
    state.end(BlockResult("one", status, **more))  # type: ignore[arg-type]


def flags(state: BlockState) -> str:
    """Return the facts about a state."""
    names = ("has_passed", "has_ended", "has_failed", "is_done", "is_passable")
    return " ".join(name for name in names if getattr(state, name))


@pytest.mark.parametrize(
    ("status", "own", "edited", "task"),
    [
        ("pass", PASSED, PASSED, PASSED),
        ("fail", FAILED, ENDED, ENDED),
        ("error", FAILED, FAILED, FAILED),
        ("skip", ENDED, ENDED, ENDED),
        ("notrun", "", "", ""),
    ],
)
def test_result_is_judged_by_its_code(status: Status, own: str, edited: str, task: str) -> None:
    """Only the lesson's own code fails by its output; edited code and tasks do not."""
    states = [
        state_of(TypedCode()),
        state_of(TypedCode("x")),
        state_of(TypedCode("x", is_try=True)),
    ]
    for state in states:
        run(state, status)
    assert [own, edited, task] == [flags(state) for state in states]


def test_result_belongs_to_the_executed_code() -> None:
    """A result counts only for the code that ran: editing hides it, undoing shows it again."""
    code = TypedCode()
    state = state_of(code)
    run(state, "fail")
    code.text = "print(2)"
    assert state.is_other_code
    assert flags(state) == ""
    code.text = OWN
    assert flags(state) == FAILED


def test_pass_stays_when_code_is_edited() -> None:
    """After a pass, only a failure of the lesson's own code takes the pass back."""
    code = TypedCode()
    state = state_of(code)
    run(state, "pass")
    code.text = "print(2)"
    run(state, "error")
    assert state.is_done
    code.text = OWN
    run(state, "error")
    assert not state.is_done


@pytest.mark.parametrize(("was_left", "before"), [(True, None), (False, "pass")])
def test_task_left_or_done_is_passable(was_left: bool, before: str | None) -> None:
    """A task that was left or done lets Enter read on; an open one stops it."""
    state = state_of(TypedCode(is_try=True), before)
    assert state.is_passable is (before == "pass")
    state.was_left = was_left
    assert state.is_passable


def test_typing_while_it_runs_is_seen() -> None:
    """Typing during a run is recorded until its end, so that the page does not scroll."""
    code = TypedCode(is_editing=True)
    state = state_of(code)
    state.begin()
    assert not state.is_typed_in
    code.text = "print(2)"
    assert state.is_typed_in
    state.end(BlockResult("one", "pass"))
    assert not state.is_typed_in


@pytest.mark.parametrize(
    ("status", "more", "is_gone"),
    [
        ("pass", {}, True),
        ("error", {}, True),
        ("skip", {}, False),
        ("notrun", {"reason": "interrupted", "seconds": 2.0}, True),
        ("notrun", {"reason": "interrupted"}, False),
    ],
)
def test_variables_go_with_the_process(
    status: Status, more: dict[str, object], is_gone: bool
) -> None:
    """Variables are gone with the process, if any code had begun."""
    state = state_of(TypedCode())
    run(state, status, **more)
    assert not state.follow(has_run=True)
    assert state.follow(has_run=False) is is_gone
    assert state.is_gone is is_gone
    assert not state.follow(has_run=False)


def test_state_needs_no_textual() -> None:
    """The module of the state imports nothing of Textual."""
    names = structure.imported_names(ast.parse(Path(block_state.__file__).read_bytes()))
    assert not [name for name in names if name.startswith(("textual", "tpustarter.tui"))]
