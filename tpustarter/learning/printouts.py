"""What the blocks of a lesson printed last, kept to be shown when the lesson is opened again.

Each lesson has a file of its own, which is replaced whole. Losing one costs another run of a
block, so nothing here stops the learner: what cannot be read or written is as if it were not there.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import Any, cast

from tpustarter import locations, state
from tpustarter.learning import progress
from tpustarter.learning.output import END_CHARACTERS
from tpustarter.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.content import Lesson
    from tpustarter.learning.block_results import BlockResult
    from tpustarter.learning.blocks import Block

SCHEMA = "tpustarter.printouts/1"
FOLDER = "printouts"
"""In the state folder."""
MOST_CHARACTERS = END_CHARACTERS
"""Of what a block printed: the beginning and the end."""
MOST_BYTES = 16 * 1024 * 1024
"""In the folder; the lessons that were worked on longest ago go first."""
LOCK_WAIT_S = 1.0
LEFT_OUT = "\n[what stood here was not kept]\n"


@dataclass(frozen=True)
class Kept:
    """What a block printed, without secrets."""

    text: str
    code: str
    """Names the code that printed it, see `progress.hash_of`."""

    def is_of(self, code: str) -> bool:
        """Return whether some code is what printed it."""
        return self.code == progress.hash_of(code)


def of(code: str, text: str) -> Kept:
    """Return what is kept of what some code printed."""
    if len(text) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2
        above, below = text[:half].rpartition("\n"), text[-half:].partition("\n")
        text = f"{above[0] or above[2]}{LEFT_OUT}{below[2] or below[0]}"
    return Kept(text, progress.hash_of(code))


def read(lesson_id: str) -> dict[str, Kept]:
    """Return what the blocks of a lesson printed last, by block."""
    blocks = state.load(_name(lesson_id)).get("blocks")
    found: dict[str, Kept] = {}
    for block, entry in cast("dict[Any, Any]", blocks).items() if isinstance(blocks, dict) else ():
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        text, code = fields.get("text"), fields.get("code")
        if isinstance(text, str) and isinstance(code, str) and len(text) <= 2 * MOST_CHARACTERS:
            found[str(block)] = Kept(text, code)
    return found


def block_ended(lesson: Lesson, block: Block, result: BlockResult, code: str) -> None:
    """Keep what a block printed with some code; one that did not run changes nothing.

    Of blocks that the lesson no longer has nothing is kept.
    """
    from tpustarter.learning.blocks import blocks_of

    if result.status in ("skip", "notrun"):
        return
    printed, names = of(code, result.output), {one.id for one in blocks_of(lesson)}
    busy = Problem("another tpustarter is saving what a block printed")
    with contextlib.suppress(Problem, OSError):
        folder = locations.make_folder(locations.state() / FOLDER)
        with locations.alone(folder / ".lock", wait_s=LOCK_WAIT_S, busy=busy):
            kept = {**read(lesson.id), block.id: printed}
            blocks = {name: asdict(kept[name]) for name in kept if name in names}
            state.save(_name(lesson.id), {"schema": SCHEMA, "blocks": blocks})
            _make_room()


def _make_room() -> None:
    """Remove the oldest files where there are too many bytes of them."""
    files = [(file, file.stat()) for file in (locations.state() / FOLDER).glob("*.json")]
    room = MOST_BYTES
    for file, stat in sorted(files, key=lambda one: one[1].st_mtime, reverse=True):
        room -= stat.st_size
        if room < 0:
            file.unlink(missing_ok=True)


def _name(lesson_id: str) -> str:
    return f"{FOLDER}/{lesson_id.replace('/', '.')}"
