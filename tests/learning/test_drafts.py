"""Drafts of edited blocks: saved on disk, and restored with the code they are based on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.progress import drafts
from tpustarter.learning.progress.drafts import MAX_CHARACTERS

BLOCK = Block("one", "x = 1\n", 1, 1.0, ())


def _files() -> list[str]:
    folder = locations.state_folder_path() / "drafts"
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_typed_code_is_kept_but_not_lesson_code() -> None:
    """Line breaks, any characters and an empty block are kept; unchanged code is not stored."""
    code = "x = 'héllo — 你好'\r\n\tprint(x)\n\n"
    drafts.save_drafts(
        "jax/arrays", {"one": drafts.make_draft(BLOCK, code), "two": drafts.make_draft(BLOCK, "")}
    )

    assert code == drafts.read_drafts("jax/arrays")["one"].code
    assert "" == drafts.read_drafts("jax/arrays")["two"].code
    assert {} == drafts.read_drafts("jax/other")

    drafts.save_drafts("jax/arrays", {"one": None})
    assert ["two"] == list(drafts.read_drafts("jax/arrays"))
    drafts.save_drafts("jax/arrays", {"two": None})
    assert [] == _files()


def test_draft_notices_changed_lesson_code() -> None:
    """A draft stores the lesson code that it was based on."""
    draft = drafts.make_draft(BLOCK, "x = 2")

    assert draft.is_current(BLOCK)
    assert not draft.is_current(Block("one", "x = 3\n", 1, 1.0, ()))


@pytest.mark.parametrize("broken", ["", "{", "[1]", "\0\0", '{"blocks": ' + "[" * 9000])
def test_unreadable_draft_file_is_put_aside_once(broken: str) -> None:
    """An unreadable draft file is moved aside once, kept, and new drafts are saved."""
    drafts.save_drafts("jax/arrays", {"one": drafts.make_draft(BLOCK, "x = 2")})
    (name,) = _files()
    path = locations.state_folder_path() / "drafts" / name
    path.write_text(broken)

    with pytest.raises(Problem, match="could not be read"):
        drafts.read_drafts("jax/arrays")
    assert {} == drafts.read_drafts("jax/arrays")
    drafts.save_drafts("jax/arrays", {"one": drafts.make_draft(BLOCK, "x = 3")})
    assert "x = 3" == drafts.read_drafts("jax/arrays")["one"].code
    assert broken in [(path.parent / file).read_text() for file in _files()]


@pytest.mark.parametrize("blocks", ["7", '{"one": 7}', '{"one": {"code": 1, "hash": "a"}}'])
def test_entries_of_unknown_kind_are_skipped(blocks: str) -> None:
    """Entries that another version wrote are skipped."""
    folder = locations.make_folder(locations.make_state_folder() / "drafts")
    (folder / "jax.arrays.json").write_text(f'{{"blocks": {blocks}}}')

    assert {} == drafts.read_drafts("jax/arrays")


def test_oversized_draft_is_refused_and_others_stay() -> None:
    """A draft above 200,000 characters is refused, and earlier drafts stay."""
    drafts.save_drafts("jax/arrays", {"one": drafts.make_draft(BLOCK, "x = 2")})

    with pytest.raises(Problem, match="expected 200000 at most"):
        drafts.save_drafts(
            "jax/arrays", {"one": drafts.make_draft(BLOCK, "x" * (MAX_CHARACTERS + 1))}
        )
    assert "x = 2" == drafts.read_drafts("jax/arrays")["one"].code


def test_two_programs_editing_one_lesson_lose_nothing() -> None:
    """Drafts of different blocks, written at the same time, are all kept."""

    def type_into(number: int) -> None:
        for count in range(10):
            draft = drafts.make_draft(BLOCK, f"x = {count}")
            drafts.save_drafts("jax/arrays", {f"block-{number}-{count}": draft})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(type_into, range(4)))

    assert 40 == len(drafts.read_drafts("jax/arrays"))


def test_unwritable_folder_is_problem(tmp_path: Path) -> None:
    """A drafts folder that is a file gives the problem `cannot write`."""
    (locations.make_state_folder() / "drafts").write_text("")

    with pytest.raises(Problem, match="cannot write"):
        drafts.save_drafts("jax/arrays", {"one": drafts.make_draft(BLOCK, "x = 2")})
