"""The origin of the program, as `--version` prints it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tpustarter
from tpustarter.core.origin import find_origin

COMMIT = "1a2b3c4d5e6f"
VCS = {"vcs": "git", "commit_id": COMMIT}


@pytest.fixture
def package(home: Path) -> Path:
    """Return a package that was installed into a folder of packages, below the home."""
    (home / "packages" / "tpustarter-0.1.0.dist-info").mkdir(parents=True)
    return home / "packages" / "tpustarter"


@pytest.mark.parametrize(
    ("direct_url", "origin"),
    [
        (None, "a package index"),
        ({"url": "file:///a/b%20c/d.whl", "archive_info": {}}, "'/a/b c/d.whl'"),
        ({"url": "file:///a/tpustarter", "dir_info": {}}, "/a/tpustarter"),
        ({"url": "https://me:secret@host/x.git", "vcs_info": VCS}, "https://host/x.git, commit 1a"),
        ({"url": "file:///a/tpustarter", "vcs_info": VCS}, "/a/tpustarter, commit 1a2b3c4d"),
        ({"url": "https://host/x.whl?token=secret"}, "https://host/x.whl"),
        ({"uri": ""}, "an unknown place"),
        ([], "an unknown place"),
        ({"url": "https://host/x.git", "vcs_info": "git"}, "an unknown place"),
        ({"url": "https://[host/x.git"}, "an unknown place"),
    ],
)
def test_installer_records_the_origin(package: Path, direct_url: object, origin: str) -> None:
    """The installer's record names a file, folder, repository or index, without passwords."""
    if direct_url is not None:
        (record,) = package.parent.glob("*.dist-info")
        (record / "direct_url.json").write_text(json.dumps(direct_url))

    found = find_origin(package)

    assert found.startswith(f"installed from {origin}")
    assert "secret" not in found


def test_copied_package_has_no_known_origin(package: Path) -> None:
    """Files without a record, or with two, name only their folder."""
    (package.parent / "tpustarter-0.2.0.dist-info").mkdir()

    assert "files in ~/packages" == find_origin(package)


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return its output."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_checkout_names_its_commit(home: Path) -> None:
    """A checkout names its commit: on a branch, with packed refs, in a worktree or detached."""
    checkout, worktree = home / "checkout", home / "worktree"
    checkout.mkdir()
    (checkout / "pyproject.toml").touch()
    package = checkout / "tpustarter"
    assert "checkout in ~/checkout" == find_origin(package)

    git(checkout, "init", "-q")
    assert "checkout in ~/checkout" == find_origin(package)

    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "first")
    expected = f"checkout in ~/checkout, commit {git(checkout, 'rev-parse', 'HEAD')[:8]}"
    assert expected == find_origin(package)

    git(checkout, "worktree", "add", "-q", "-b", "side", str(worktree))
    git(worktree, "commit", "-q", "--allow-empty", "-m", "second")
    beside = f"checkout in ~/worktree, commit {git(worktree, 'rev-parse', 'HEAD')[:8]}"
    assert beside == find_origin(worktree / "tpustarter")

    git(checkout, "pack-refs", "--all")
    git(checkout, "checkout", "-q", "--detach")
    assert expected == find_origin(package)
    assert beside == find_origin(worktree / "tpustarter")


def test_zip_file_names_itself(home: Path) -> None:
    """A zip file made by `python -m zipapp` names itself as the origin."""
    package = Path(tpustarter.__file__).parent
    parts = (package, *(package / name for name in ("core", "machine", "text")))
    files = [path for part in parts for path in part.glob("*.*")]
    with zipfile.ZipFile(home / "tpustarter.pyz", "w") as archive:
        archive.writestr("__main__.py", "from tpustarter.__main__ import main\nmain()\n")
        for path in files:
            archive.write(path, path.relative_to(package.parent))
    done = subprocess.run(
        [sys.executable, archive.filename or "", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"tpustarter {tpustarter.__version__} (zip file ~/tpustarter.pyz)\n" == done.stdout
