"""Stopping a block like a REPL: names are kept wherever Python can be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson, make_session, run_block
from tests.support.processes import HANG_S, until
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.run import lesson_process
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import LessonSession

UP = "kept = 41\nprint('up', flush=True)\n"
USES = fence("print(kept + 1)", "42", name="uses")
SWALLOWS = """import time
while True:
    try:
        print("in", flush=True)
        time.sleep(600)  # until it is stopped, again and again
    except BaseException:
        pass
"""
BELOW_PYTHON = "sum(range(10**14))"
"""Python looks for no signal in there."""
BUSY_TICKS = 5
"""Hundredths of a second of the processor: more than all that a block does before its loop."""
IMPORTS = """import sys
import tempfile
from pathlib import Path
sys.path.insert(0, tempfile.mkdtemp())
code = "import time; print('in', flush=True); time.sleep(600)  # until it is stopped"
(Path(sys.path[0]) / "slow_to_come.py").write_text(code)
import slow_to_come
"""


def _is_busy(pid: str) -> Callable[[], bool]:
    """Return a condition: a process has used the processor for a while from now on."""

    def ticks() -> int:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])

    enough = ticks() + BUSY_TICKS
    return lambda: ticks() >= enough


def _has_child(pid: str) -> Callable[[], bool]:
    """Return a condition: a process has started another one."""
    return lambda: bool(Path(f"/proc/{pid}/task/{pid}/children").read_text())


WAITS_FOR = {"sum(": _is_busy, "while True:\n    pass": _is_busy, "import subprocess": _has_child}
"""By how the code begins; any other prints `in` once it is where it is to be stopped."""


def _stop_once_up(session: LessonSession, stop: Callable[[], object]) -> BlockResult:
    """Run the first block, stop it once it is up, and return its result."""
    block = list_blocks(session.lesson)[0]
    begins = [begin for begin in WAITS_FOR if block.code.startswith(UP + begin)]
    result, text, is_stopped = None, "", False
    for item in session.run(block):
        if isinstance(item, OutputChunk) and not is_stopped:
            text += item.text
            if begins or "in\n" in text:
                is_stopped = True
                assert session.holder
                pid = str(session.holder.pid)
                is_there = WAITS_FOR[begins[0]](pid) if begins else lambda: True
                threading.Thread(target=lambda check=is_there: (until(check), stop())).start()
        elif isinstance(item, BlockResult):
            result = item
    assert result
    return result


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        "import time\nprint('in', flush=True)\ntime.sleep(600)  # hangs",
        "import subprocess\nsubprocess.run(['sleep', '600'])",
    ],
    ids=["loop", "sleep", "waits for a command"],
)
def test_interrupted_block_keeps_names(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interrupt, the next block runs in the same process with the same names."""
    monkeypatch.setattr(lesson_process, "REPL_WAIT_S", HANG_S)
    session = make_session(make_lesson(tmp_path, fence(UP + code) + USES))
    result = _stop_once_up(session, lambda: session.stop(names_stay=True))

    assert ("notrun", "interrupted") == (result.status, result.reason)
    assert "KeyboardInterrupt" in result.output
    assert "probe" not in result.output  # where it was stopped, and not how
    assert session.is_warm
    assert "pass" == run_block(session, list_blocks(session.lesson)[1]).status
    session.close()


@pytest.mark.parametrize("code", [SWALLOWS, BELOW_PYTHON, IMPORTS])
def test_uninterruptible_block_is_ended(code: str, tmp_path: Path) -> None:
    """A block that ignores the interrupt, or is importing, ends together with its process."""
    session = make_session(make_lesson(tmp_path, fence(UP + code) + USES))
    result = _stop_once_up(session, lambda: session.stop(names_stay=True))

    assert ("notrun", "interrupted") == (result.status, result.reason)
    assert not session.is_warm
    assert "NameError" in run_block(session, list_blocks(session.lesson)[1]).detail
    session.close()


def test_second_stop_ends_block_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second stop ends a process that would otherwise never end."""
    monkeypatch.setattr(lesson_process, "REPL_WAIT_S", float("inf"))
    session = make_session(make_lesson(tmp_path, fence(UP + BELOW_PYTHON)))

    def stop_twice() -> None:
        session.stop(names_stay=True)
        session.stop(names_stay=True)

    result = _stop_once_up(session, stop_twice)
    session.close()

    assert "interrupted" == result.reason
    assert not session.is_warm


def test_late_stop_ends_nothing(tmp_path: Path) -> None:
    """A stop between blocks interrupts nothing, and the next block runs in the same process."""
    session = make_session(make_lesson(tmp_path, fence(UP) + USES))
    one, two = list_blocks(session.lesson)
    run_block(session, one)
    probe = session._probe  # pyright: ignore[reportPrivateUsage]
    assert probe
    probe.ask_to_end()

    assert "pass" == run_block(session, two).status
    session.close()


def test_block_raising_interrupt_itself_is_error(tmp_path: Path) -> None:
    """A KeyboardInterrupt that the block raises itself is an error, not an interruption."""
    session = make_session(make_lesson(tmp_path, fence("raise KeyboardInterrupt")))
    result = run_block(session, list_blocks(session.lesson)[0])
    session.close()

    assert ("error", "exception") == (result.status, result.reason)
