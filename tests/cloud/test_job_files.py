"""The files of a folder that a job sends, and those that it leaves out."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tpustarter.cloud.jobs import job_files
from tpustarter.core.problem import Problem

STRANGE = ["-rf", "a b", "new\nline", "é'\"$(x)", os.fsdecode(b"caf\xe9")]


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    names = ("-c", "user.name=n", "-c", "user.email=e@example.com")
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with a file of every kind."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in ("tracked.py", "gone.py", ".env", "sub/deep.py", "data/big.bin", *STRANGE):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name.encode("utf-8", "replace").decode())
    (folder / ".gitignore").write_text("data/\n")
    git(folder, "add", "--", "tracked.py", "gone.py", "sub")
    (folder / "gone.py").unlink()
    (folder / "inside").symlink_to("sub/deep.py")
    (folder / "outside").symlink_to("../secret")
    (folder / "absolute").symlink_to("/etc/passwd")
    (tmp_path / "secret").write_text("secret")
    os.mkfifo(folder / "pipe")
    git(folder, "init", "-q", "nested")
    (folder / "nested/file").write_text("x")
    git(folder / "nested", "add", "file")
    git(folder / "nested", "commit", "-qm", "one")
    return folder


def test_git_decides_what_is_sent(repository: Path) -> None:
    """Tracked files and untracked ones, with the strangest names; everything else is named."""
    files = job_files.find_job_files(repository)

    expected = {".gitignore", "tracked.py", "sub/deep.py", "inside", *STRANGE}
    assert expected == {*files.paths}
    assert {
        "data/": "ignored by git",
        ".env": "likely to hold secrets",
        "gone.py": "deleted, although git still has it",
        "outside": "a link that leads out of the folder",
        "absolute": "a link that leads out of the folder",
        "nested/": "a git repository of its own",
    } == {one.path: one.why for one in files.left_out}
    assert files.is_git


def test_included_files_are_sent(repository: Path) -> None:
    """Ignored ones and secrets, but nothing from outside."""
    files = job_files.find_job_files(repository, ("data/*", ".env", "../secret", "pipe"))

    assert {"data/big.bin", ".env"} <= {*files.paths}
    left = {one.path: one.why for one in files.left_out}
    assert "outside the folder" == left["../secret"]
    assert "neither a file nor a link" == left["pipe"]
    with pytest.raises(Problem):
        job_files.find_job_files(repository, ("nothing*",))


def test_files_below_a_link_stay_here(repository: Path, tmp_path: Path) -> None:
    """A folder that leads out is no way out, even if it is named."""
    (repository / "way").symlink_to(tmp_path)

    files = job_files.find_job_files(repository, ("way/secret",))

    assert "way/secret" not in files.paths
    assert "outside the folder" in {one.why for one in files.left_out}


def test_folder_without_git_is_sent_whole(tmp_path: Path) -> None:
    """A folder without git is sent whole, except for files that are usually left out."""
    for name in ("train.py", "__pycache__/x.pyc", ".venv/bin/python", "id_rsa", ".env.example"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    files = job_files.find_job_files(tmp_path)

    assert (".env.example", "train.py") == files.paths
    assert not files.is_git


def test_archive_is_the_same_and_nobodys(repository: Path) -> None:
    """An archive is reproducible, and has no owner names or numbers."""
    files = job_files.find_job_files(repository)
    first, second = io.BytesIO(), io.BytesIO()

    for one in (first, second):
        job_files.write_archive(files, one)

    assert first.getvalue() == second.getvalue()
    first.seek(0)
    with tarfile.open(fileobj=first) as tar:
        members = tar.getmembers()
    assert {*files.paths} == {member.name for member in members}
    assert {(0, 0, "", "")} == {(m.uid, m.gid, m.uname, m.gname) for m in members}


def test_too_large_folder_names_its_files(tmp_path: Path) -> None:
    """A folder that is too large is refused with its largest files, before anything is sent."""
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "large").write_bytes(b"x" * 5000)
    files = job_files.find_job_files(tmp_path)

    job_files.require_size_within_limit(files, 5001)
    with pytest.raises(Problem) as raised:
        job_files.require_size_within_limit(files, 5000)
    assert raised.value.detail.splitlines()[1].endswith("'large'")


def test_folder_with_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `/` is, which would be walked for minutes."""
    monkeypatch.setattr(job_files, "MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).write_text("x")
    with pytest.raises(Problem, match="more than 2 files"):
        job_files.find_job_files(tmp_path)
    (tmp_path / "c").unlink()

    assert ("a", "b") == job_files.find_job_files(tmp_path).paths


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    """An empty folder is refused, and so is a file."""
    with pytest.raises(Problem):
        job_files.find_job_files(tmp_path)
    (tmp_path / "x").write_text("x")
    with pytest.raises(Problem):
        job_files.find_job_files(tmp_path / "x")
