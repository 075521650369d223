"""What was typed into blocks is kept on the disk, and given back with what it changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tpustarter import locations
from tpustarter.learning import drafts
from tpustarter.learning.blocks import Block
from tpustarter.learning.drafts import MAX_CHARACTERS
from tpustarter.problem import Problem

BLOCK = Block("one", "x = 1\n", 1, 1.0, ())


def _files() -> list[str]:
    folder = locations.state_place() / "drafts"
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_what_was_typed_is_read_again_and_the_lessons_own_code_leaves_nothing() -> None:
    """Line breaks, letters of any kind and an empty block included."""
    code = "x = 'héllo — 你好'\r\n\tprint(x)\n\n"
    drafts.keep("jax/arrays", {"one": drafts.of(BLOCK, code), "two": drafts.of(BLOCK, "")})

    assert code == drafts.read("jax/arrays")["one"].code
    assert "" == drafts.read("jax/arrays")["two"].code
    assert {} == drafts.read("jax/other")

    drafts.keep("jax/arrays", {"one": None})
    assert ["two"] == list(drafts.read("jax/arrays"))
    drafts.keep("jax/arrays", {"two": None})
    assert [] == _files()


def test_a_draft_knows_whether_the_lesson_has_changed_since() -> None:
    """By the code that it changed."""
    draft = drafts.of(BLOCK, "x = 2")

    assert draft.fits(BLOCK)
    assert not draft.fits(Block("one", "x = 3\n", 1, 1.0, ()))


@pytest.mark.parametrize("broken", ["", "{", "[1]", "\0\0", '{"blocks": ' + "[" * 9000])
def test_a_file_that_cannot_be_read_is_put_aside_and_told(broken: str) -> None:
    """Once; nothing of it is overwritten, and typing goes on."""
    drafts.keep("jax/arrays", {"one": drafts.of(BLOCK, "x = 2")})
    (name,) = _files()
    path = locations.state_place() / "drafts" / name
    path.write_text(broken)

    with pytest.raises(Problem, match="could not be read"):
        drafts.read("jax/arrays")
    assert {} == drafts.read("jax/arrays")
    drafts.keep("jax/arrays", {"one": drafts.of(BLOCK, "x = 3")})
    assert "x = 3" == drafts.read("jax/arrays")["one"].code
    assert broken in [(path.parent / file).read_text() for file in _files()]


@pytest.mark.parametrize("blocks", ["7", '{"one": 7}', '{"one": {"code": 1, "hash": "a"}}'])
def test_entries_of_another_kind_are_left_out(blocks: str) -> None:
    """A program of another version may have written them."""
    folder = locations.make_folder(locations.state() / "drafts")
    (folder / "jax.arrays.json").write_text(f'{{"blocks": {blocks}}}')

    assert {} == drafts.read("jax/arrays")


def test_what_is_too_long_is_refused_and_nothing_else_is_lost() -> None:
    """A paste of a whole log, for example."""
    drafts.keep("jax/arrays", {"one": drafts.of(BLOCK, "x = 2")})

    with pytest.raises(Problem, match="expected 200000 at most"):
        drafts.keep("jax/arrays", {"one": drafts.of(BLOCK, "x" * (MAX_CHARACTERS + 1))})
    assert "x = 2" == drafts.read("jax/arrays")["one"].code


def test_two_programs_that_type_into_one_lesson_lose_nothing_of_each_other() -> None:
    """Each changes blocks of its own."""

    def type_into(number: int) -> None:
        for count in range(10):
            draft = drafts.of(BLOCK, f"x = {count}")
            drafts.keep("jax/arrays", {f"block-{number}-{count}": draft})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(type_into, range(4)))

    assert 40 == len(drafts.read("jax/arrays"))


def test_a_folder_that_takes_no_file_is_told(tmp_path: Path) -> None:
    """A file where the folder would be; root may write anywhere else."""
    (locations.state() / "drafts").write_text("")

    with pytest.raises(Problem, match="cannot write"):
        drafts.keep("jax/arrays", {"one": drafts.of(BLOCK, "x = 2")})
