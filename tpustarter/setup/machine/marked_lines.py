"""Set-up's lines between two marks in a user's or system file; and files that are set-up's alone.

    python -IB marked_lines.py add PATH NAME LINE ...   put the lines between the marks of NAME
    python -IB marked_lines.py take PATH NAME BEFORE    remove them; the file is as it was before
    python -IB marked_lines.py make PATH LINE ...       create a file with these lines
    python -IB marked_lines.py remove PATH LINE ...     remove it, if it has no other text

This is a program so that root can run it, and it needs only the standard library. A file is
replaced as a whole, keeping its owner and permissions; if the path is a link, its target is
changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ABSENT, ENDED, UNENDED = "absent", "ended", "unended"
"""Earlier states of a file: absent; empty or with a final newline; without a final newline."""
_MAX_BYTES = 4 * 1024 * 1024


class UnchangeableFileError(Exception):
    """Raised for a file that cannot be changed, with the reason."""


@dataclass(frozen=True)
class MarkedParts:
    """A file's text, with the lines between the marks kept apart."""

    before: str
    ours: tuple[str, ...] | None
    """The lines between the marks; None without marks."""
    after: str

    @property
    def kind(self) -> str:
        """The state of a file without marks: `ENDED` or `UNENDED`."""
        return ENDED if self.before.endswith("\n") or not self.before else UNENDED


def format_marks(name: str) -> tuple[str, str]:
    """Return the lines that mark the beginning and the end."""
    return f"# >>> tpustarter: {name} >>>", f"# <<< tpustarter: {name} <<<"


def read_parts(path: Path, name: str) -> MarkedParts | None:
    """Return the parts of a file, or None if it does not exist.

    Raises:
        UnchangeableFileError: The file cannot be read, or its marks are damaged.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise UnchangeableFileError(
                f"`{path}` is not a regular file of {_MAX_BYTES} bytes at most"
            )
        with path.open(encoding="utf-8", newline="") as stream:
            text = stream.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnchangeableFileError(
            f"`{path}` cannot be read: {getattr(error, 'strerror', error)}"
        ) from error
    lines = text.splitlines(keepends=True)
    begin, end = format_marks(name)
    found = [index for index, line in enumerate(lines) if line.strip() in (begin, end)]
    if not found:
        return MarkedParts(text, None, "")
    if [lines[index].strip() for index in found] != [begin, end]:
        numbers = ", ".join(str(index + 1) for index in found)
        raise UnchangeableFileError(
            f"the marks of tpustarter in `{path}` are damaged: found them in line {numbers}, "
            f"expected `{begin}` once, and after it `{end}` once"
        )
    first, last = found
    ours = tuple(line.rstrip("\r\n") for line in lines[first + 1 : last])
    return MarkedParts("".join(lines[:first]), ours, "".join(lines[last + 1 :]))


def add_lines(path: Path, name: str, lines: Sequence[str]) -> None:
    """Write lines between the marks of `name`, adding marks at the file's end if it has none."""
    parts = read_parts(path, name) or MarkedParts("", None, "")
    begin, end = format_marks(name)
    ours = "".join(f"{line}\n" for line in (begin, *lines, end))
    line_end = "\n" if parts.ours is None and parts.kind == UNENDED else ""
    _write(path, parts.before + line_end + ours + parts.after)


def remove_lines(path: Path, name: str, before: str) -> None:
    """Remove the lines that `add_lines` wrote, with their marks.

    Args:
        path: The file; it is deleted if it is then empty and did not exist before.
        name: The name in the marks.
        before: The file's state before lines were added, such as `ABSENT`.
    """
    parts = read_parts(path, name)
    if parts is None or parts.ours is None:
        return
    above = parts.before
    if before == UNENDED and not parts.after:
        above = above.removesuffix("\n")
    if before == ABSENT and not above + parts.after:
        path.unlink()
    else:
        _write(path, above + parts.after)


def make_file(path: Path, lines: Sequence[str]) -> None:
    """Create a file.

    Raises:
        UnchangeableFileError: A file with other text exists; it is kept.
    """
    text = join_lines(lines)
    found = _text(path)
    if found not in (None, text):
        raise UnchangeableFileError(f"`{path}` says something else than set-up would write")
    if found is None:
        _write(path, text)


def remove_unchanged_file(path: Path, lines: Sequence[str]) -> None:
    """Remove a file that set-up wrote.

    Raises:
        UnchangeableFileError: The file was changed since; it is kept.
    """
    found = _text(path)
    if found is None:
        return
    if found != join_lines(lines):
        raise UnchangeableFileError(f"`{path}` was changed after set-up wrote it, so it stays")
    path.unlink()


def join_lines(lines: Sequence[str]) -> str:
    """Return the text of a file with these lines."""
    return "".join(f"{line}\n" for line in lines)


def _text(path: Path) -> str | None:
    parts = read_parts(path, "")
    return parts and parts.before


def _write(path: Path, text: str) -> None:
    target = Path(os.path.realpath(path))
    status = target.stat() if target.exists() else None
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".tpustarter-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(stream.fileno(), stat.S_IMODE(status.st_mode) if status else 0o644)
            if status and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
            os.fsync(stream.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def main(words: Sequence[str]) -> None:
    """Run the command in `words`; exit with a line of text if it fails."""
    verb, path, *others = words
    try:
        if verb == "add":
            add_lines(Path(path), others[0], others[1:])
        elif verb == "take":
            remove_lines(Path(path), *others)
        elif verb == "make":
            make_file(Path(path), others)
        else:
            remove_unchanged_file(Path(path), others)
    except (UnchangeableFileError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
