"""The kinds of `look` in a machine's set-up, each with its own command and undo.

    look: {package: [tmux, mosh]}                      Debian or Ubuntu packages
    look: {command: docker}                            a program on PATH
    look: {lines: ~/.tmux.conf, text: set -g mouse on} set-up's lines between marks
    look: {file: /etc/tpu.conf, text: ...}             a file that is set-up's alone
    look: {folder: ~/bucket}                           a folder
    look: {mounted: ~/bucket}                          a file system mounted on a folder
    look: {member: [alice, docker]}                    a user in a system group
    look: {registry: us-docker.pkg.dev}                Docker signs in to it with gcloud
    look: {setting: huge-pages}                        a function in `machine_settings`
    look: proof                                        its command has succeeded

A setting may be combined with another kind, which decides if the setting's function cannot. Reading
a state starts nothing and writes nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.machine import host
from tpustarter.setup.machine import dpkg, marked_lines
from tpustarter.setup.machine.access_steps import GroupMember, RegistryStep
from tpustarter.setup.machine.machine_settings import SETTINGS
from tpustarter.setup.machine.step_kind import EarlierSetting, StepKind, StepState
from tpustarter.text import phrases

Look = dict[str, str | list[str]]
"""A `look` in a lesson's header."""

_INSTALL = (
    "apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
    '-o DPkg::Lock::Timeout=300 "$@"'
)
"""A new machine often updates itself at the first login, so the command waits for the lock."""
_PURGE = (
    'for n in $(seq 60); do dpkg --purge --force-remove-reinstreq "$@"; code=$?; '
    "[ $code = 2 ] || exit $code; sleep 5; done; exit 2"
)
"""Script that removes packages. dpkg exits with 1 if another package now needs one of these;
apt-get would remove that package as well. Exit code 2 means that another program holds the lock.
Packages that a kill left half unpacked are removed only with that option."""
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class PackageStep(StepKind):
    """Debian or Ubuntu packages; undo removes exactly those that were added."""

    machine: host.Machine
    names: tuple[str, ...]

    def read_state(self) -> StepState:
        """Return the state from dpkg's own list, recording the packages present before."""
        packages = dpkg.read_packages(self.machine)
        apt = shutil.which("apt-get", path=self.machine.env.get("PATH", os.defpath))
        if not packages.states or apt is None:
            return StepState("blocked", "there is no `apt-get` here")
        if {*self.names} <= {*packages.installed}:
            are = phrases.choose_plural(len(self.names), "is", "are")
            return StepState("done", f"{phrases.join_words(self.names)} {are} installed")
        return StepState("todo", "", {"installed": packages.present_names})

    def command(self) -> tuple[str, ...]:
        """Return the install command, which first completes an interrupted installation."""
        if dpkg.read_packages(self.machine).was_killed:
            script = f"dpkg --configure -a; {_INSTALL}"
            return ("sh", "-c", script, "apt-get", "--reinstall", *self.names)
        return ("sh", "-c", _INSTALL, "apt-get", *self.names)

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that removes the added packages that no other package needs."""
        words = dpkg.read_packages(self.machine).list_removable(self._came(before), self.names)
        return ("sh", "-c", _PURGE, "dpkg", *words) if words else ()

    def make_undo_record(self, before: EarlierSetting) -> EarlierSetting:
        """Return the added packages: the named ones, and those that apt installed for them."""
        return {"came": self._came(before)}

    def _came(self, before: EarlierSetting) -> list[str]:
        recorded = before if isinstance(before, dict) else {}
        if "installed" in recorded:
            return dpkg.read_packages(self.machine).list_added(self.names, recorded["installed"])
        return recorded.get("came", [])


@dataclass(frozen=True)
class ProgramOnPathStep(StepKind):
    """A step that is done once a program is on PATH."""

    machine: host.Machine
    name: str

    def read_state(self) -> StepState:
        """Return the state, which is done if the program is on PATH."""
        found = shutil.which(self.name, path=self.machine.env.get("PATH", os.defpath))
        return StepState("done", f"`{self.name}` found at {found}") if found else StepState("todo")


@dataclass(frozen=True)
class MarkedLinesStep(StepKind):
    """Set-up's lines between marks in a user's or system file."""

    machine: host.Machine
    path: str
    name: str
    lines: tuple[str, ...]

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the file, and the lines with their marks."""
        begin, end = marked_lines.format_marks(self.name)
        return self.path, (begin, *self.lines, end)

    def read_state(self) -> StepState:
        """Return the state from the lines between the marks."""
        folder = self.path.rpartition("/")[0]
        if self.machine.read_status(folder or "/") is None:
            return StepState("blocked", f"there is no folder `{_short(self.machine, folder)}`")
        try:
            parts = marked_lines.read_parts(self.machine.path(self.path), self.name)
        except marked_lines.UnchangeableFileError as error:
            return StepState("blocked", str(error))
        if parts is None:
            return StepState("todo", "", marked_lines.ABSENT)
        if parts.ours is None:
            return StepState("todo", "", parts.kind)
        if parts.ours != self.lines:
            return StepState(
                "todo",
                f"other lines stand between its marks in `{_short(self.machine, self.path)}`",
                parts.kind,
            )
        return StepState("done", f"the lines are in `{_short(self.machine, self.path)}`")

    def command(self) -> tuple[str, ...]:
        """Return the command that adds the lines to the file."""
        return _program("add", self.machine, self.path, self.name, *self.lines)

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that removes the lines that this step added."""
        return _program("take", self.machine, self.path, self.name, str(before))


@dataclass(frozen=True)
class FileStep(StepKind):
    """A file that only set-up writes; an existing file with different contents is left alone."""

    machine: host.Machine
    path: str
    lines: tuple[str, ...]

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the file and all its lines."""
        return self.path, self.lines

    def read_state(self) -> StepState:
        """Return the state from the file's text."""
        text = self.machine.read_text(self.path)
        if text is None:
            folder = self.path.rpartition("/")[0]
            if self.machine.read_status(folder) is None:
                return StepState("blocked", f"there is no folder `{_short(self.machine, folder)}`")
            return StepState("todo", "", marked_lines.ABSENT)
        if text.strip() != marked_lines.join_lines(self.lines).strip():
            return StepState(
                "blocked",
                f"`{_short(self.machine, self.path)}` says something else than set-up would write",
            )
        return StepState(
            "done", f"`{_short(self.machine, self.path)}` is there", marked_lines.ABSENT
        )

    def command(self) -> tuple[str, ...]:
        """Return the command that creates the file."""
        return _program("make", self.machine, self.path, *self.lines)

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that removes the file."""
        del before
        return _program("remove", self.machine, self.path, *self.lines)


@dataclass(frozen=True)
class FolderStep(StepKind):
    """A folder and its missing parents; undo removes those that are empty."""

    machine: host.Machine
    path: str

    def read_state(self) -> StepState:
        """Return the state, which is done if the folder exists; a mounted folder is not opened."""
        path = self.machine.path(self.path)
        if _mounted_at(self.machine, self.path) or path.is_dir():
            return StepState("done", f"`{_short(self.machine, self.path)}` is there")
        missing = [str(one) for one in (path, *path.parents) if not one.exists()]
        return StepState("todo", "", missing)

    def command(self) -> tuple[str, ...]:
        """Return the command that creates the folder."""
        return ("mkdir", "-p", str(self.machine.path(self.path)))

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the command that removes the folders that were missing, the deepest first."""
        return ("rmdir", "--ignore-fail-on-non-empty", *before)


@dataclass(frozen=True)
class MountStep(StepKind):
    """A file system mounted on a folder."""

    machine: host.Machine
    path: str

    def read_state(self) -> StepState:
        """Return the state from the kernel's list of mounts."""
        if not (found := _mounted_at(self.machine, self.path)):
            return StepState("todo", "", "not mounted")
        source, kind = found
        return StepState("done", f"{host.clean_text(source, 60)} is mounted there, as {kind}")


@dataclass(frozen=True)
class SettingStep(StepKind):
    """A function in `machine_settings`, with another kind in case the function cannot decide."""

    machine: host.Machine
    name: str
    other: StepKind | None

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the other kind's file and lines."""
        return self.other.writes() if self.other else ("", ())

    def read_state(self) -> StepState:
        """Return the setting's state; if its function returns None, the state of the other kind."""
        seen = SETTINGS[self.name](self.machine)
        if seen is None and self.other is not None:
            return self.other.read_state()
        return seen or StepState("todo")

    def command(self) -> tuple[str, ...]:
        """Return the other kind's command."""
        return self.other.command() if self.other else ()

    def undo(self, before: EarlierSetting) -> tuple[str, ...]:
        """Return the other kind's undo."""
        return self.other.undo(before) if self.other else ()

    def make_undo_record(self, before: EarlierSetting) -> EarlierSetting:
        """Return the other kind's record."""
        return self.other.make_undo_record(before) if self.other else before


def make_step_kind(look: Look, name: str, machine: host.Machine, home: str) -> StepKind:
    """Return the kind of step for a header's `look`.

    Args:
        look: The header's mapping, with its values filled in.
        name: The names of the profile and the step, for the marks.
        machine: The machine whose state is read.
        home: The home folder, for `~`.

    Raises:
        ValueError: The `look` is unknown or empty.
    """
    look = dict(look)
    setting = look.pop("setting", None)
    if setting is not None and (isinstance(setting, list) or setting not in SETTINGS):
        raise ValueError(f"no setting `{setting}`")
    other = _plain_kind(look, name, machine, home) if look else None
    if setting is not None:
        return SettingStep(machine, setting, other)
    if other is None:
        raise ValueError("an empty `look`")
    return other


def _plain_kind(look: Look, name: str, machine: host.Machine, home: str) -> StepKind:
    text = look.pop("text", None)
    lines = tuple(str(text).splitlines())
    (kind, value), *others = look.items()
    if others or (text is None) == (kind in ("lines", "file")):
        raise ValueError(f"`look` has {', '.join(look)}, and `text` goes with lines and file")
    words = (value,) if isinstance(value, str) else tuple(value)
    path = re.sub(r"^~(?=/|$)", home, words[0])
    if kind in ("lines", "file", "folder", "mounted") and not path.startswith("/"):
        raise ValueError(f"`{path}` is no absolute path")
    if kind == "package":
        return PackageStep(machine, words)
    if kind == "command":
        return ProgramOnPathStep(machine, words[0])
    if kind == "lines":
        return MarkedLinesStep(machine, path, name, lines)
    if kind == "file":
        return FileStep(machine, path, lines)
    if kind == "folder":
        return FolderStep(machine, path)
    if kind == "mounted":
        return MountStep(machine, path)
    if kind == "member":
        return GroupMember(machine, *words)
    if kind == "registry":
        return RegistryStep(machine, words[0], home)
    raise ValueError(f"no kind of look is called `{kind}`")


def _short(machine: host.Machine, path: str) -> str:
    return interpreters.format_path(Path(path), machine.env)


def _mounted_at(machine: host.Machine, folder: str) -> tuple[str, str] | None:
    # Opening a mount may block forever, or fail if the program behind it has ended.
    for line in (machine.read_text("/proc/self/mounts", _MAX_BYTES) or "").splitlines():
        source, path, kind = (*line.split(" "), "", "", "")[:3]
        if path.encode().decode("unicode_escape") == folder:
            return source, kind
    return None


def _program(verb: str, machine: host.Machine, path: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-IB", marked_lines.__file__, verb, str(machine.path(path)), *words)
