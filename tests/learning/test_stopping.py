"""A block that is stopped as in a REPL: the names stay wherever Python can be interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson, make_session, run_block
from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import blocks_of
from tpustarter.learning.lesson_process import REPL_WAIT_S, LessonSession
from tpustarter.learning.output import Output

UP = "kept = 41\nprint('up', flush=True)\n"
USES = fence("print(kept + 1)", "42", name="uses")
SWALLOWS = """import time
while True:
    try:
        time.sleep(0.05)
    except BaseException:
        pass
"""
BELOW_PYTHON = "sum(range(10**14))"
"""Python looks for no signal in there."""
IMPORTS = """import sys
import tempfile
from pathlib import Path
sys.path.insert(0, tempfile.mkdtemp())
(Path(sys.path[0]) / "slow_to_come.py").write_text("import time; time.sleep(600)")
import slow_to_come
"""


def _stop_once_up(session: LessonSession, stop: Callable[[], object]) -> BlockResult:
    """Run the first block, stop it when it has printed something, and return its result."""
    *_, result = _run_and(session, stop)
    return result


def _run_and(session: LessonSession, stop: Callable[[], object]) -> list[BlockResult]:
    results: list[BlockResult] = []
    is_stopped = False
    for item in session.run(blocks_of(session.lesson)[0]):
        if isinstance(item, Output) and not is_stopped:
            is_stopped = True
            threading.Timer(0.2, stop).start()
        if isinstance(item, BlockResult):
            results.append(item)
    return results


@pytest.mark.parametrize(
    "code",
    ["while True:\n    pass", "import time\ntime.sleep(600)",
     "import subprocess\nsubprocess.run(['sleep', '600'])"],
    ids=["loop", "sleep", "waits for a command"],
)  # fmt: skip
def test_names_stay_where_python_can_be_interrupted(code: str, tmp_path: Path) -> None:
    """And the same process runs the next block."""
    session = make_session(make_lesson(tmp_path, fence(UP + code) + USES))
    result = _stop_once_up(session, lambda: session.stop(names_stay=True))

    assert ("notrun", "interrupted") == (result.status, result.reason)
    assert "KeyboardInterrupt" in result.output
    assert "probe" not in result.output  # where it was stopped, and not how
    assert session.is_warm
    assert "pass" == run_block(session, blocks_of(session.lesson)[1]).status
    session.close()


@pytest.mark.parametrize("code", [SWALLOWS, BELOW_PYTHON, IMPORTS])
def test_what_cannot_be_interrupted_is_ended(code: str, tmp_path: Path) -> None:
    """In bounded time, with its process; so is an import, which would leave half a module."""
    session = make_session(make_lesson(tmp_path, fence(UP + code) + USES))
    began = time.monotonic()
    result = _stop_once_up(session, lambda: session.stop(names_stay=True))

    assert ("notrun", "interrupted") == (result.status, result.reason)
    assert not session.is_warm
    assert "NameError" in run_block(session, blocks_of(session.lesson)[1]).detail
    session.close()
    assert time.monotonic() - began < 20


def test_who_asks_twice_does_not_wait(tmp_path: Path) -> None:
    """The second time ends the process at once."""
    session = make_session(make_lesson(tmp_path, fence(UP + BELOW_PYTHON)))
    asked: list[float] = []

    def stop_twice() -> None:
        session.stop(names_stay=True)
        asked.append(time.monotonic())
        session.stop(names_stay=True)

    result = _stop_once_up(session, stop_twice)
    session.close()

    assert "interrupted" == result.reason
    assert not session.is_warm
    assert asked
    assert REPL_WAIT_S > 0


def test_a_stop_that_comes_late_ends_nothing(tmp_path: Path) -> None:
    """Between blocks a process has nothing to interrupt, and the next block runs."""
    session = make_session(make_lesson(tmp_path, fence(UP) + USES))
    one, two = blocks_of(session.lesson)
    run_block(session, one)
    probe = session._probe  # pyright: ignore[reportPrivateUsage]
    assert probe
    probe.ask_to_end()
    time.sleep(0.2)

    assert "pass" == run_block(session, two).status
    session.close()


def test_a_block_that_raises_it_itself_is_an_error(tmp_path: Path) -> None:
    """Only who was stopped was interrupted."""
    session = make_session(make_lesson(tmp_path, fence("raise KeyboardInterrupt")))
    result = run_block(session, blocks_of(session.lesson)[0])
    session.close()

    assert ("error", "exception") == (result.status, result.reason)
