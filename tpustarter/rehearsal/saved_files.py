"""The files that a rehearsal writes into the folder of `--save`.

`rehearsal.json` and `rehearsal.md` hold the whole report. Each program has its own folder inside
that of its TPU, with `before.mlir` (StableHLO), `after.hlo` (the compiled program) and
`memory.txt`. The compiler's process writes the first two. No file is deleted. The user's process
may create links at any moment, so all other files are written through descriptors of their folders,
without following links.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Generator, Mapping
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.result_fields import ResultFields

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class SavedFiles:
    """The user's folder for the files of one rehearsal."""

    def __init__(self, name: str) -> None:
        """Create the folder.

        Raises:
            Problem: The folder cannot be created.
        """
        self.folder = locations.expand_path(name).absolute()
        with locations.convert_output_errors(self.folder):
            if self.folder.exists() and not self.folder.is_dir():
                raise Problem(f"`{name}` is no folder, as `--save` needs", code=ExitCode.USAGE)
            locations.make_folders(self.folder)

    def make_tpu_folder(self, tpu: str, check: str | None) -> Path:
        """Create the folder for the files of one TPU, or of one check on that TPU.

        Raises:
            Problem: The folder cannot be created, or a link in it would lead elsewhere.
        """
        folder = self._find_tpu_folder(tpu, check)
        with locations.convert_output_errors(folder):
            self._refuse_links(folder)
            with self._open_folder(folder):
                return folder

    def write_program(self, result: ResultFields, memory: str) -> None:
        """Write a program's memory next to its texts, and give all of them to the caller.

        Args:
            result: The compiler's answer.
            memory: Its memory as text; empty if unknown.

        Raises:
            Problem: A file cannot be written.
        """
        folder = self._find_tpu_folder(result["tpu"], result["check"])
        folder /= _format_folder_name(result["program"])
        with locations.convert_output_errors(folder):
            self._refuse_links(folder)
            with self._open_folder(folder) as descriptor:
                _give_to_caller(descriptor)
                for name in ("before.mlir", "after.hlo"):
                    _give_file_to_caller(name, descriptor)
        if memory:
            self._write(folder / "memory.txt", memory)

    def write_report(self, document: Mapping[str, object], table: str) -> None:
        """Write the JSON document, and the table in Markdown.

        Raises:
            Problem: A file cannot be written.
        """
        self._write(self.folder / "rehearsal.json", json.dumps(document, indent=1) + "\n")
        self._write(self.folder / "rehearsal.md", table)

    def _find_tpu_folder(self, tpu: str, check: str | None) -> Path:
        # The name of the check may come from the process that runs the user's code.
        folder = self.folder / tpu.replace(":", "-")
        return folder / _format_folder_name(check) if check else folder

    def _write(self, path: Path, text: str) -> None:
        with locations.convert_output_errors(path), self._open_folder(path.parent) as folder:
            _replace_file(path.name, text.encode(), folder)

    @contextlib.contextmanager
    def _open_folder(self, folder: Path) -> Generator[int]:
        """Open a subfolder, creating what is missing; raise OSError for a link."""
        descriptor = os.open(self.folder, _FOLDER)
        try:
            for part in folder.relative_to(self.folder).parts:
                is_new = False
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=descriptor)
                    is_new = True
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
                if is_new:
                    _give_to_caller(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)

    def _refuse_links(self, path: Path) -> None:
        # Under sudo, a link created by the user's code could lead root to any file.
        above = [path, *path.parents][: len(path.relative_to(self.folder).parts)]
        for one in (*above, *path.rglob("*")):
            if one.is_symlink():
                raise OSError(errno.ELOOP, f"`{one.relative_to(self.folder)}` is a link")


def _replace_file(name: str, data: bytes, folder: int) -> None:
    """Write a temporary file and rename it, which never follows a link."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, f"`{name}` is a link")
    temporary = f".{name}-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
    descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
            _give_to_caller(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _give_file_to_caller(name: str, folder: int) -> None:
    # A hard link would give away the file that it links to.
    with contextlib.suppress(OSError):
        descriptor = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                _give_to_caller(descriptor)
        finally:
            os.close(descriptor)


def _give_to_caller(descriptor: int) -> None:
    if sudo := locations.find_sudo_caller():
        with contextlib.suppress(OSError):
            os.fchown(descriptor, *sudo)


def _format_folder_name(name: str) -> str:
    from tpustarter.probe.rehearse.rehearsal import format_folder_name  # takes long, rarely needed

    return format_folder_name(name)
