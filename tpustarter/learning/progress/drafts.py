"""Drafts: code that the learner typed into blocks, kept until the lesson's own code is restored.

Each lesson has its own file. It is re-read under a lock and replaced atomically, so a kill loses
only the changes since the last call of `save_drafts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tpustarter.core import locations, state
from tpustarter.core.json_values import entries_of_type
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import lesson_progress, progress_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.learning.content.blocks import Block

SCHEMA = "tpustarter.drafts/1"
FOLDER = "drafts"
"""Folder inside the state folder."""
MAX_CHARACTERS = 200_000
"""Maximum characters of a block; nobody types more."""


@dataclass(frozen=True)
class BlockDraft:
    """The learner's code in a block."""

    code: str
    hash: str
    """The hash of the lesson's code that was edited, see `lesson_progress.hash_block_code`."""

    def is_current(self, block: Block) -> bool:
        """Return whether the draft is based on the lesson's current code."""
        return self.hash == lesson_progress.hash_block_code(block)


def make_draft(block: Block, code: str) -> BlockDraft:
    """Return a draft with some code for a block."""
    return BlockDraft(code, lesson_progress.hash_block_code(block))


def read_drafts(lesson_id: str) -> dict[str, BlockDraft]:
    """Return a lesson's drafts by block.

    Raises:
        Problem: The file could not be read, and was moved aside.
    """
    name = _name(lesson_id)
    file = locations.state_folder_path() / f"{name}.json"
    was_there = file.exists()
    drafts = _parse(state.load_state(name))
    if was_there and not file.exists():
        raise Problem(
            f"what you had typed into this lesson could not be read, and lies in `{file.parent}` "
            "under another name",
            hint="the lesson shows its own code again; nothing else is lost",
        )
    return drafts


def list_drafts() -> set[str]:
    """Return the ids of the lessons that have drafts."""
    files = (locations.state_folder_path() / FOLDER).glob("*.json")
    return {file.stem.replace(".", "/", 1) for file in files}


def save_drafts(lesson_id: str, changes: Mapping[str, BlockDraft | None]) -> None:
    """Save the code of some blocks; None restores the lesson's own code.

    Raises:
        Problem: The file cannot be written, or a draft is too long.
    """
    for draft in changes.values():
        if draft and len(draft.code) > MAX_CHARACTERS:
            raise Problem(
                f"a block has {len(draft.code)} characters, expected {MAX_CHARACTERS} at most",
                hint="copy it into a file of your own, because tpustarter does not save it",
            )
    folder = locations.make_folder(locations.make_state_folder() / FOLDER)
    busy = Problem(
        f"another tpustarter has kept `{folder}` locked for {progress_file.LOCK_WAIT_S:g} s"
    )
    with locations.hold_lock(folder / ".lock", wait_s=progress_file.LOCK_WAIT_S, busy=busy):
        name = _name(lesson_id)
        merged = {**_parse(state.load_state(name)), **changes}
        drafts = {block: draft for block, draft in merged.items() if draft}
        if not drafts:
            with locations.convert_write_errors(state.prepare_state_path(name)):
                state.prepare_state_path(name).unlink(missing_ok=True)
            return
        blocks = {block: asdict(draft) for block, draft in drafts.items()}
        state.save_state(name, {"schema": SCHEMA, "blocks": blocks})


def _name(lesson_id: str) -> str:
    return f"{FOLDER}/{lesson_id.replace('/', '.')}"


def _parse(stored: dict[str, object]) -> dict[str, BlockDraft]:
    return entries_of_type(stored.get("blocks"), BlockDraft)
