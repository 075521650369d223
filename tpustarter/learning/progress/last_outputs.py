"""The last output of the blocks of a lesson, kept to be shown when the lesson is opened again.

Each lesson has a file of its own, which is replaced whole. Losing one costs another run of a block,
so errors never stop the learner: a file that cannot be read or written counts as missing.
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
"""In the state folder."""
MOST_CHARACTERS = END_CHARACTERS
"""Characters of a block's output that are kept, at its beginning and its end."""
MOST_BYTES = 16 * 1024 * 1024
"""Bytes in the folder; the lessons that were used longest ago are removed first."""
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
    """Return a block's output to save; long output loses its middle."""
    if len(text) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2
        above, below = text[:half].rpartition("\n"), text[-half:].partition("\n")
        text = f"{above[0] or above[2]}{LEFT_OUT}{below[2] or below[0]}"
    return SavedOutput(text, lesson_progress.hash_code(code))


def read_outputs(lesson_id: str) -> dict[str, SavedOutput]:
    """Return the last outputs of a lesson, by block, or none if they cannot be read."""
    with contextlib.suppress(Problem):
        return _read(lesson_id)
    return {}


def _read(lesson_id: str) -> dict[str, SavedOutput]:
    kept = entries_of_type(state.load_state(_name(lesson_id)).get("blocks"), SavedOutput)
    return {block: one for block, one in kept.items() if len(one.text) <= 2 * MOST_CHARACTERS}


def save_output(lesson: Lesson, block: Block, result: BlockResult, code: str) -> None:
    """Keep the output of a block with some code; a block that did not run changes nothing.

    Outputs of blocks that are not in the lesson are dropped.
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
