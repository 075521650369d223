"""Names and links from the process of the user, which must not lead out of the folder of `--save`.

Under sudo, that process may have fewer rights than the one that writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.probe.rehearse.rehearsal import format_folder_name
from tpustarter.rehearsal.saved_files import SavedFiles


def find_path(descriptor: int) -> Path:
    """Return the path of an open file or folder."""
    return Path(f"/proc/self/fd/{descriptor}").readlink()


CHECKS = ["/etc/x", "../../x", "..", ".", "a/../../../x", "x\0y", "\udcff", "\n", "a" * 9000]


def result(check: str | None = None, program: str = "step") -> dict[str, Any]:
    """Return the fields of an answer that decide where its files are saved."""
    return {"tpu": "v5e-8", "check": check, "program": program}


@pytest.mark.parametrize("check", CHECKS, ids=lambda name: ascii(name[:20]))
def test_no_name_leaves_the_folder(check: str, tmp_path: Path) -> None:
    """No name of a check or program, such as a path, leads out of the folder."""
    files = SavedFiles(str(tmp_path / "kept"))
    folder = files.make_tpu_folder("v5e-8", check)
    files.write_program(result(check, program=check), "memory")

    assert tmp_path / "kept/v5e-8" == folder.parent
    assert [folder] == [path.parents[1] for path in tmp_path.rglob("*") if path.is_file()]


NAMES = [
    *("a/b", "a-b", "a b", "-a-b", "a:b", "step(f32[8,8])", "step(f32[8 8])", "step.f32.8.8"),
    *("", ".", "..", "/", "program", "a" * 60, "a" * 9000, "a" * 9001, "\U0001d4d0" * 90, "\udcff"),
]


def test_each_name_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Each name has its own folder, even if only unusable or cut characters differ."""
    folders = {name: format_folder_name(name) for name in NAMES}
    for folder in folders.values():
        (tmp_path / folder).mkdir()

    assert {"a-b", "step.f32.8.8", "program", "a" * 60} == {*NAMES} & {*folders.values()}


LINKS: dict[str, Callable[[Path], Path]] = {
    "a TPU": lambda kept: kept / "v5e-8",
    "a check": lambda kept: kept / "v5e-8/jax.a",
    "a program": lambda kept: kept / "v5e-8/jax.a/step",
    "a file": lambda kept: kept / "v5e-8/jax.a/step/memory.txt",
    "a text of the compiler": lambda kept: kept / "v5e-8/jax.a/step/before.mlir",
}


@pytest.mark.parametrize("case", LINKS)
def test_no_link_is_followed(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No link is followed: nothing is written or changes its owner at its target."""
    kept, outside = tmp_path / "kept", tmp_path / "outside"
    files = SavedFiles(str(kept))
    outside.mkdir()
    link = LINKS[case](kept)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    owned: set[Path] = set()
    monkeypatch.setattr(locations, "find_sudo_caller", lambda: (1000, 1000))
    monkeypatch.setattr(os, "fchown", lambda one, *_: owned.add(find_path(one)))
    for write in (
        partial(files.make_tpu_folder, "v5e-8", "jax.a"),
        partial(files.write_program, result("jax.a"), ""),
    ):
        with pytest.raises(Problem) as problem:
            write()
        assert ExitCode.OUTPUT == problem.value.code

    assert [] == [*outside.iterdir()]
    assert all(path.is_relative_to(kept) for path in owned)


@pytest.mark.parametrize("name", ["rehearsal.json", "rehearsal.md", "v5e-8/step/memory.txt"])
def test_no_linked_file_is_replaced(name: str, tmp_path: Path) -> None:
    """The link may have been made after the compiler wrote."""
    files, other = SavedFiles(str(tmp_path / "kept")), tmp_path / "other"
    other.write_text("keep")
    (tmp_path / "kept" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "kept" / name).symlink_to(other)
    write = partial(files.write_report, {}, "table")
    if "memory" in name:
        write = partial(files.write_program, result(), "memory")
    with pytest.raises(Problem) as problem:
        write()

    assert ExitCode.OUTPUT == problem.value.code
    assert "keep" == other.read_text()


def test_texts_of_compiler_become_the_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under sudo root's process makes them, also of a program whose memory is unknown."""
    owned: set[Path] = set()
    monkeypatch.setattr(locations, "find_sudo_caller", lambda: (1000, 1000))
    monkeypatch.setattr(os, "chown", lambda path, *_, **__: owned.add(Path(path)))
    monkeypatch.setattr(os, "fchown", lambda one, *_: owned.add(find_path(one)))
    files = SavedFiles(str(tmp_path / "new/kept"))
    folder = files.make_tpu_folder("v5e-8", None) / "step"
    folder.mkdir()
    (folder / "before.mlir").touch()
    files.write_program(result(), "")

    assert {*tmp_path.rglob("*")} <= owned


@pytest.mark.parametrize("name", ["rehearsal.json", "v5e-8/step/memory.txt"])
def test_link_made_meanwhile_is_not_followed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's process may make it after every look at the folder."""
    files, outside = SavedFiles(str(tmp_path / "kept")), tmp_path / "outside"
    outside.mkdir()
    target = outside / Path(name).name
    target.write_text("keep")

    def link_at_last(
        source: str, destination: str, *, src_dir_fd: int, dst_dir_fd: int, rename: Any = os.replace
    ) -> None:
        if destination == target.name:
            (tmp_path / "kept" / name).symlink_to(target)
        rename(source, destination, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "replace", link_at_last)
    files.write_program(result(), "memory")
    files.write_report({}, "table")

    assert "keep" == target.read_text()
    assert not (tmp_path / "kept" / name).is_symlink()


def test_folder_swapped_for_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a folder and its opening, it may become a link."""
    files, outside = SavedFiles(str(tmp_path / "kept")), tmp_path / "outside"
    outside.mkdir()

    def swap(part: str, mode: int, *, dir_fd: int) -> None:
        os.symlink(outside, part, dir_fd=dir_fd)
        raise FileExistsError

    monkeypatch.setattr(os, "mkdir", swap)
    with pytest.raises(Problem) as problem:
        files.write_program(result(), "memory")

    assert ExitCode.OUTPUT == problem.value.code
    assert [] == [*outside.iterdir()]


def test_second_name_of_a_file_stays_its_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of the user's process, from a text of the compiler to a file of root, is refused."""
    files, other = SavedFiles(str(tmp_path / "kept")), tmp_path / "other"
    other.write_text("root's")
    folder = files.make_tpu_folder("v5e-8", None) / "step"
    folder.mkdir()
    (folder / "before.mlir").hardlink_to(other)
    owned: set[Path] = set()
    monkeypatch.setattr(locations, "find_sudo_caller", lambda: (1000, 1000))
    monkeypatch.setattr(os, "fchown", lambda one, *_: owned.add(find_path(one)))
    files.write_program(result(), "")

    assert {folder} == owned
