"""The files of a folder that a job sends to its workers, and those that it leaves out.

In a git repository, a job sends the tracked files and the untracked ones that git does not ignore.
Files whose names suggest secrets are left out, as is anything but regular files and links.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gzip
import itertools
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tpustarter.core.problem import ExitCode, Problem

MAX_BYTES = 256 << 20
"""Size above which a folder is not sent without `--limit`."""
MOST_FILES = 20_000
"""Number of files above which a folder is not sent, because it is unlikely to be code."""
LARGEST = 5
"""Number of files listed when a folder is too large."""
SECRETS = (
    *(".env", ".env.*", "*.env", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "*.pem"),
    *("*.key", "*.p12", "*.pfx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "kaggle.json"),
    *("credentials.json", "application_default_credentials.json", "*service*account*.json"),
    *("token.json", "client_secret*.json", "secrets.y*ml", "secrets.json", "secrets.toml"),
)
"""Name patterns of files whose purpose is to hold secrets."""
LEFT_OUT_BY_NAME = "likely to hold secrets"
"""Reason to leave out a file whose name matches `SECRETS`."""
NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Names that match `SECRETS` but are meant to be shared."""
_NEVER = (".git", "__pycache__", ".venv", "node_modules", ".ipynb_checkpoints")
"""Folders that are left out if git lists no files."""


@dataclass(frozen=True)
class OmittedFile:
    """A file, or a whole folder, that is not sent."""

    path: str
    why: str
    """The reason, such as `ignored by git`."""


@dataclass(frozen=True)
class JobFiles:
    """The files of a folder that a job sends, and those that it leaves out."""

    folder: Path
    paths: tuple[str, ...]
    """Relative paths, sorted."""
    left_out: tuple[OmittedFile, ...]
    bytes: int
    """Total size of the files, before compression."""
    is_git: bool


def find_job_files(folder: Path, include: Sequence[str] = ()) -> JobFiles:
    """Return the files to send.

    Args:
        folder: The folder, which may be part of a repository.
        include: Patterns of files to send even if they would be left out.

    Raises:
        Problem: The folder does not exist, has no files to send or too many, or a pattern matches
            nothing.
    """
    if not folder.is_dir():
        raise Problem(f"`{folder}` is not a folder", code=ExitCode.USAGE)
    listed = _list_with_git(folder)
    walked = itertools.islice(_walk(folder, skips=True), MOST_FILES + 1)
    names, ignored = listed or (sorted(walked), [])
    if len(names) > MOST_FILES:
        raise Problem(
            f"`{folder}` has more than {MOST_FILES:,} files to send",
            hint="name a smaller folder with `--folder`, or let git ignore what is no code",
            code=ExitCode.USAGE,
        )
    left_out = [OmittedFile(name, "ignored by git") for name in ignored]
    for pattern in include:
        matches = _match(folder, pattern)
        if not matches:
            raise Problem(
                f"`--include {pattern}` matches no file in `{folder}`", code=ExitCode.USAGE
            )
        names = [*names, *matches]
    wanted = set(names)
    kept: list[str] = []
    size = 0
    for name in sorted(wanted):
        if why := _reason_against(folder, name, include):
            left_out.append(OmittedFile(name, why))
            continue
        kept.append(name)
        size += (folder / name).lstat().st_size
    if not kept:
        raise Problem(f"`{folder}` has no file that would be sent", code=ExitCode.USAGE)
    return JobFiles(folder, tuple(kept), tuple(left_out), size, is_git=listed is not None)


def _list_with_git(folder: Path) -> tuple[list[str], list[str]] | None:
    """Return the files that git does not ignore, and the ignored ones; None outside a repository.

    Raises:
        Problem: Git cannot list the repository's files.
    """
    git = shutil.which("git")
    if git is None:
        return None
    command = (git, "-C", str(folder), "-c", "core.fsmonitor=false", "ls-files", "-z")
    listings: list[list[str]] = []
    for options in (
        ("--cached", "--others", "--exclude-standard"),
        ("--others", "--ignored", "--exclude-standard", "--directory"),
    ):
        done = subprocess.run(
            [*command, *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        )
        if done.returncode and b"not a git repository" in done.stderr:
            return None
        if done.returncode:
            raise Problem(
                f"git could not list the files of `{folder}`",
                detail=os.fsdecode(done.stderr).strip(),
                code=ExitCode.USAGE,
            )
        listings.append([os.fsdecode(name) for name in done.stdout.split(b"\0") if name])
    return listings[0], listings[1]


def _walk(folder: Path, *, skips: bool) -> Iterator[str]:
    """Yield all files below a folder, without following links."""
    for parent, folders, files in os.walk(folder):
        here = Path(parent)
        if skips:
            folders[:] = [name for name in folders if name not in _NEVER]
        links = [name for name in folders if (here / name).is_symlink()]
        yield from ((here / name).relative_to(folder).as_posix() for name in (*files, *links))


def _match(folder: Path, pattern: str) -> list[str]:
    """Return the files that a pattern matches, and all files in folders that it matches."""
    found: list[str] = []
    try:
        matches = [*folder.glob(pattern)] if PurePosixPath(pattern).parts else []
    except (ValueError, NotImplementedError) as error:
        raise Problem(
            f"`--include {pattern}` is not a pattern below the folder: {error}",
            code=ExitCode.USAGE,
        ) from error
    for path in matches:
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            found += (f"{name}/{inside}" for inside in _walk(path, skips=False))
        else:
            found.append(name)
    return found


def _reason_against(folder: Path, name: str, include: Sequence[str]) -> str:
    """Return the reason to leave a file out, or an empty string if it is sent."""
    path = folder / name
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "deleted, although git still has it"
    base = PurePosixPath(name).name
    root = folder.resolve()
    if root not in (path.parent.resolve(), *path.parent.resolve().parents):
        return "outside the folder"
    is_named = any(fnmatch.fnmatchcase(name, pattern) for pattern in include)
    if stat.S_ISDIR(mode):
        return "a git repository of its own"
    if stat.S_ISLNK(mode):
        return "" if _stays_inside(folder, path) else "a link that leads out of the folder"
    if not stat.S_ISREG(mode):
        return "neither a file nor a link"
    if not os.access(path, os.R_OK):
        return "not readable"
    if not is_named and _is_secret(base):
        return LEFT_OUT_BY_NAME
    return ""


def _is_secret(base: str) -> bool:
    name = base.casefold()
    if name in NO_SECRETS:
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRETS)


def _stays_inside(folder: Path, link: Path) -> bool:
    """Return whether a link is relative and its target is inside the folder."""
    if link.readlink().is_absolute():
        return False
    root = folder.resolve()
    try:
        return root in (root / link.relative_to(folder)).resolve().parents
    except (OSError, RuntimeError):
        return False


def require_size_within_limit(files: JobFiles, limit: int) -> None:
    """Raise Problem if the files' total size exceeds a limit in bytes."""
    if files.bytes <= limit:
        return
    sizes = sorted(((files.folder / name).lstat().st_size, name) for name in files.paths)
    largest = [
        f"{size / (1 << 20):8.1f} MiB  {name!a}" for size, name in sizes[: -LARGEST - 1 : -1]
    ]
    raise Problem(
        f"`{files.folder}` has {files.bytes / (1 << 20):.0f} MiB to send to every worker, expected "
        f"at most {limit / (1 << 20):.0f} MiB",
        detail="\n".join(["the largest files:", *largest]),
        hint="put large data into a bucket, or let git ignore it; `--limit MIB` sends more",
        code=ExitCode.USAGE,
    )


def write_archive(files: JobFiles, target: BinaryIO) -> None:
    """Write a compressed tar file without owners' names.

    Raises:
        Problem: A file cannot be read, or shrinks while it is read.
    """
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in files.paths:
            with _convert_read_errors(name):
                _add(tar, files.folder / name, name)


@contextlib.contextmanager
def _convert_read_errors(name: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise Problem(f"`{name}` could not be read: {why}", code=ExitCode.USAGE) from error


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    status = path.lstat()
    member.mtime = int(status.st_mtime)
    if stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
        tar.addfile(member)
        return
    member.mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
    with path.open("rb") as file:
        member.size = os.fstat(file.fileno()).st_size
        tar.addfile(member, file)
