"""The last output of each block, shown again when the lesson is reopened.

Each lesson has its own file, which is replaced atomically. Losing one costs only another run, so
errors are ignored: an unreadable or unwritable file counts as missing.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass

from tpustarter.core import locations, state
from tpustarter.core.json_values import entries_of_type
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.run.block_output import END_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.learning.content.blocks import Block
    from tpustarter.learning.run.block_results import BlockResult

SCHEMA = "tpustarter.printouts/1"
FOLDER = "printouts"
"""Folder inside the state folder."""
MOST_CHARACTERS = END_CHARACTERS
"""Characters of a block's output that are kept, half at its beginning and half at its end."""
MOST_BYTES = 16 * 1024 * 1024
"""Maximum bytes in the folder; the least recently used lessons are removed first."""
LOCK_WAIT_S = 1.0
LEFT_OUT = "\n[what stood here was not kept]\n"


@dataclass(frozen=True)
class SavedOutput:
    """The output of a block, without secrets."""

    text: str
    code: str
    """The hash of the code that printed it, see `lesson_progress.hash_code`."""

    def is_of(self, code: str) -> bool:
        """Return whether this output was printed by the given code."""
        return self.code == lesson_progress.hash_code(code)


def make_saved_output(code: str, text: str) -> SavedOutput:
    """Return a block's output for saving; the middle of long output is left out."""
    if len(text) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2
        above, below = text[:half].rpartition("\n"), text[-half:].partition("\n")
        text = f"{above[0] or above[2]}{LEFT_OUT}{below[2] or below[0]}"
    return SavedOutput(text, lesson_progress.hash_code(code))


def read_outputs(lesson_id: str) -> dict[str, SavedOutput]:
    """Return a lesson's last outputs by block; empty if they cannot be read."""
    with contextlib.suppress(Problem):
        return _read(lesson_id)
    return {}


def _read(lesson_id: str) -> dict[str, SavedOutput]:
    kept = entries_of_type(state.load_state(_name(lesson_id)).get("blocks"), SavedOutput)
    return {block: one for block, one in kept.items() if len(one.text) <= 2 * MOST_CHARACTERS}


def save_output(lesson: Lesson, block: Block, result: BlockResult, code: str) -> None:
    """Save a block's output for the code that ran; a block that did not run changes nothing.

    Outputs of blocks that are no longer in the lesson are dropped.
    """
    from tpustarter.learning.content.blocks import list_blocks

    if result.status in ("skip", "notrun"):
        return
    printed, names = make_saved_output(code, result.output), {one.id for one in list_blocks(lesson)}
    busy = Problem("another tpustarter is saving what a block printed")
    with contextlib.suppress(Problem, OSError):
        folder = locations.make_folder(locations.make_state_folder() / FOLDER)
        with locations.hold_lock(folder / ".lock", wait_s=LOCK_WAIT_S, busy=busy):
            kept = {**_read(lesson.id), block.id: printed}
            blocks = {name: asdict(kept[name]) for name in kept if name in names}
            state.save_state(_name(lesson.id), {"schema": SCHEMA, "blocks": blocks})
            _make_room()


def _make_room() -> None:
    files = [
        (file, file.stat()) for file in (locations.make_state_folder() / FOLDER).glob("*.json")
    ]
    room = MOST_BYTES
    for file, stat in sorted(files, key=lambda one: one[1].st_mtime, reverse=True):
        room -= stat.st_size
        if room < 0:
            file.unlink(missing_ok=True)


def _name(lesson_id: str) -> str:
    return f"{FOLDER}/{lesson_id.replace('/', '.')}"
