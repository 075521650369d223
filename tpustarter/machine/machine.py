"""The machine that facts are read from: this one, or a folder with its own /sys and /proc.

No state of a machine makes these methods raise: what cannot be read is `None` or empty.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


def copy_environment() -> Mapping[str, str]:
    """Return a copy of this process's environment."""
    return dict(os.environ)


@dataclass(frozen=True)
class Machine:
    """The source of all facts about a machine: this one, or files and values laid out by a test."""

    root: Path = Path("/")
    """Folder that contains sys, proc, dev, tmp and etc."""
    env: Mapping[str, str] = field(default_factory=copy_environment)
    """The user's environment, before the probe changed it."""
    uid: int | None = None
    """The user whose permissions are judged; None for the current user."""

    def path(self, name: str) -> Path:
        """Return the path under the machine's root of an absolute path such as `/dev/vfio/0`."""
        return self.root / name.lstrip("/")

    def read_text(self, name: str, limit: int = 65536) -> str | None:
        """Return up to `limit` bytes of a file's text, or None if it cannot be read."""
        try:
            with self.path(name).open("rb") as file:
                return file.read(limit).decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return None

    def list_names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder, or an empty list if it cannot be read."""
        try:
            return sorted(os.listdir(self.path(folder)))  # noqa: PTH208 -- ten times as fast as Path
        except (OSError, ValueError):
            return []

    def read_link(self, name: str) -> str | None:
        """Return the target of a symbolic link, or None if it cannot be read."""
        try:
            return str(self.path(name).readlink())
        except (OSError, ValueError):
            return None

    def read_status(self, name: str) -> os.stat_result | None:
        """Return the `os.stat` of a path, or None if it cannot be read."""
        try:
            return self.path(name).stat()
        except (OSError, ValueError):
            return None

    def is_file(self, name: str) -> bool:
        """Return whether a path is a regular file that this user can see."""
        status = self.read_status(name)
        return status is not None and stat.S_ISREG(status.st_mode)

    def has_access(self, name: str, want: int) -> bool:
        """Return whether the user's permissions allow opening a path, without opening it.

        Args:
            name: An absolute path.
            want: A combination of `os.R_OK` and `os.W_OK`.
        """
        if self.uid is None:
            effective = os.access in os.supports_effective_ids
            return os.access(self.path(name), want, effective_ids=effective)
        status = self.read_status(name)
        if status is None:
            return False
        bits = status.st_mode >> (6 if status.st_uid == self.uid else 0)
        return self.uid == 0 or bits & want == want

    def user_name(self, uid: int) -> str:
        """Return a user's name, using files only.

        The name service of a Google VM queries the metadata server and can hang with it.
        """
        for name in ("/etc/passwd", "/etc/oslogin_passwd.cache"):
            for line in (self.read_text(name, 1 << 20) or "").splitlines():
                fields = line.split(":")
                if len(fields) > 2 and fields[2] == str(uid):
                    return clean_text(fields[0], 40)
        return f"uid {uid}"


def clean_text(text: str, limit: int = 200) -> str:
    """Return the machine's text as one printable line of at most `limit` characters."""
    return cut_text(" ".join("".join(c if c.isprintable() else " " for c in text).split()), limit)


def cut_text(text: str, limit: int) -> str:
    """Shorten text to the whole words that fit in `limit` characters.

    Secrets are recognised by their shape, and removed by the layers above; part of one has no
    shape.
    """
    if len(text) <= limit:
        return text
    return f"{text[: limit - 3].rpartition(' ')[0]} ...".lstrip()


MAX_PRODUCT = 1_000_000
"""More than any number of chips or hosts of a TPU, so a larger product is not of bounds."""


def parse_number(text: str | None, base: int = 10) -> int | None:
    """Parse an integer, or return None for other text."""
    try:
        return int(text or "", base)
    except ValueError:
        return None


def multiply_topology_bounds(bounds: str | None) -> int | None:
    """Return the product of bounds such as `2,2,1`, or None if they are implausible."""
    total = 1
    for part in (bounds or "").split(","):
        size = parse_number(part)
        if size is None or size < 1:
            return None
        total *= size
        if total > MAX_PRODUCT:
            return None
    return total
