"""Who may do what: a user in a group of the system, and gcloud for a registry of images."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from tpustarter.machine import host
from tpustarter.setup import sign_in
from tpustarter.setup.kind import Kind, Look

MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Member(Kind):
    """A user in a group of the system, by /etc/group alone."""

    machine: host.Machine
    user: str
    group: str

    def look(self) -> Look:
        """Tell by the group's line; root needs no group."""
        lines = (self.machine.text("/etc/group", MAX_BYTES) or "").splitlines()
        members = [line.split(":")[-1] for line in lines if line.startswith(f"{self.group}:")]
        if self.user == "root":
            return Look("done", f"you are root, who needs no group `{self.group}` for it")
        if not members:
            return Look("blocked", f"there is no group `{self.group}`")
        if self.user in members[0].split(","):
            return Look("done", f"{self.user} is in the group `{self.group}` from the next login")
        return Look("todo", "", "outside")

    def command(self) -> tuple[str, ...]:
        """Return what puts the user in, beside the groups that there are."""
        return ("usermod", "--append", "--groups", self.group, self.user)

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return what takes the user out."""
        del before
        return ("gpasswd", "--delete", self.user, self.group)


@dataclass(frozen=True)
class Registry(Kind):
    """A registry to which Docker signs in by gcloud."""

    machine: host.Machine
    name: str
    home: str

    @property
    def _path(self) -> str:
        return f"{self.home}/.docker/config.json"

    def look(self) -> Look:
        """Tell by Docker's configuration."""
        try:
            seen = sign_in.helper(self.machine.text(self._path, MAX_BYTES), self.name)
        except ValueError as error:
            return Look("blocked", f"`{self._path}` cannot be read: {error}")
        if seen == sign_in.GCLOUD:
            return Look("done", f"Docker signs in to {self.name} by gcloud")
        if shutil.which("gcloud", path=self.machine.env.get("PATH", os.defpath)) is None:
            return Look("blocked", "there is no `gcloud` here")
        return Look("todo", "", seen)

    def command(self) -> tuple[str, ...]:
        """Return what writes the entry."""
        return ("gcloud", "auth", "configure-docker", self.name, "--quiet")

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return the program that takes it out."""
        path = str(self.machine.path(self._path))
        return (sys.executable, "-IB", sign_in.__file__, "take", path, self.name, str(before))
