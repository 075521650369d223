"""Steps for access: a user's system groups, and gcloud sign-in to an image registry."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

from tpustarter.machine import host
from tpustarter.setup.machine import registry_sign_in
from tpustarter.setup.machine.step_kind import EarlierSetting, StepKind, StepState

MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class GroupMember(StepKind):
    """A user's membership in a system group, according to /etc/group alone."""

    machine: host.Machine
    user: str
    group: str

    def read_state(self) -> StepState:
        """Return the state from the group's line; root needs no group."""
        lines = (self.machine.read_text("/etc/group", MAX_BYTES) or "").splitlines()
        members = [line.split(":")[-1] for line in lines if line.startswith(f"{self.group}:")]
        if self.user == "root":
            return StepState("done", f"you are root, who needs no group `{self.group}` for it")
        if not members:
            return StepState("blocked", f"there is no group `{self.group}`")
        if self.user in members[0].split(","):
            return StepState(
                "done", f"{self.user} is in the group `{self.group}` from the next login"
            )
        return StepState("todo", "", "outside")

    def command(self) -> tuple[str, ...]:
        """Return the command that adds the user, keeping the user's other groups."""
        return ("usermod", "--append", "--groups", self.group, self.user)

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that removes the user from the group."""
        del before
        return ("gpasswd", "--delete", self.user, self.group)


@dataclass(frozen=True)
class RegistryStep(StepKind):
    """A registry that Docker signs in to with gcloud."""

    machine: host.Machine
    name: str
    home: str

    @property
    def _path(self) -> str:
        return f"{self.home}/.docker/config.json"

    def read_state(self) -> StepState:
        """Return the state from Docker's configuration."""
        try:
            seen = registry_sign_in.read_credential_helper(
                self.machine.read_text(self._path, MAX_BYTES), self.name
            )
        except ValueError as error:
            return StepState("blocked", f"`{self._path}` cannot be read: {error}")
        if seen == registry_sign_in.GCLOUD:
            return StepState("done", f"Docker signs in to {self.name} by gcloud")
        if shutil.which("gcloud", path=self.machine.env.get("PATH", os.defpath)) is None:
            return StepState("blocked", "there is no `gcloud` here")
        return StepState("todo", "", seen)

    def command(self) -> tuple[str, ...]:
        """Return the command that writes the entry."""
        return ("gcloud", "auth", "configure-docker", self.name, "--quiet")

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that removes the entry."""
        path = str(self.machine.path(self._path))
        return (
            sys.executable,
            "-IB",
            registry_sign_in.__file__,
            "take",
            path,
            self.name,
            str(before),
        )
