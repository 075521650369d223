"""What a step of a machine's set-up looks at: a few kinds, each with its own change and way back.

    look: {package: [tmux, mosh]}                      packages of Debian or Ubuntu
    look: {command: docker}                            a program on PATH
    look: {lines: ~/.tmux.conf, text: set -g mouse on} lines of ours between marks
    look: {file: /etc/tpu.conf, text: ...}             a file that is ours as a whole
    look: {folder: ~/bucket}                           a folder
    look: {mounted: ~/bucket}                          a file system that is mounted there
    look: {member: [alice, docker]}                    a user in a group of the system
    look: {registry: us-docker.pkg.dev}                Docker signs in there by gcloud
    look: {setting: huge-pages}                        a function in `settings`
    look: proof                                        its command ended well

A setting may stand beside another kind: where it has nothing to say, the other is looked at.
Looking starts nothing and writes nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter.checking import interpreters
from tpustarter.machine import host
from tpustarter.setup import dpkg, marked
from tpustarter.setup.accounts import Member, Registry
from tpustarter.setup.kind import Kind, Look
from tpustarter.setup.settings import SETTINGS

_INSTALL = (
    "apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
    '-o DPkg::Lock::Timeout=300 "$@"'
)
"""A new machine often updates itself when somebody first logs in, so it waits for the lock."""
_PURGE = (
    'for n in $(seq 60); do dpkg --purge --force-remove-reinstreq "$@"; code=$?; '
    "[ $code = 2 ] || exit $code; sleep 5; done; exit 2"
)
"""It refuses, with 1, where another package has come to need one of these, which apt-get would
remove as well. With 2 it says that another program holds the lock. What a kill left half
unpacked, dpkg removes only with that option."""
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Package(Kind):
    """Packages of Debian or Ubuntu; undo removes exactly those that came."""

    machine: host.Machine
    names: tuple[str, ...]

    def look(self) -> Look:
        """Tell by dpkg's own list; what is installed before is remembered."""
        packages = dpkg.read(self.machine)
        apt = shutil.which("apt-get", path=self.machine.env.get("PATH", os.defpath))
        if not packages.states or apt is None:
            return Look("blocked", "there is no `apt-get` here")
        if {*self.names} <= {*packages.installed}:
            word = "is" if len(self.names) == 1 else "are"
            return Look("done", f"{' and '.join(self.names)} {word} installed")
        return Look("todo", "", {"installed": packages.present})

    def command(self) -> tuple[str, ...]:
        """Return the installation, after what was interrupted is brought to its end."""
        if dpkg.read(self.machine).was_killed:
            script = f"dpkg --configure -a; {_INSTALL}"
            return ("sh", "-c", script, "apt-get", "--reinstall", *self.names)
        return ("sh", "-c", _INSTALL, "apt-get", *self.names)

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return what removes those that came, but for what another package has come to need."""
        came = cast("dict[str, list[str]]", self.settled(before))["came"]
        words = dpkg.read(self.machine).removable(came, self.names)
        return ("sh", "-c", _PURGE, "dpkg", *words) if words else ()

    def settled(self, before: Any) -> Any:
        """Return the packages that came: those named, and what apt installed for them."""
        told = cast("dict[str, list[str]]", before) if isinstance(before, dict) else {}
        if "installed" in told:
            return {"came": dpkg.read(self.machine).came(self.names, told["installed"])}
        return {"came": told.get("came", list(self.names))}


@dataclass(frozen=True)
class OnPath(Kind):
    """A program on PATH."""

    machine: host.Machine
    name: str

    def look(self) -> Look:
        """Tell by PATH."""
        found = shutil.which(self.name, path=self.machine.env.get("PATH", os.defpath))
        return Look("done", f"`{self.name}` found at {found}") if found else Look("todo")


@dataclass(frozen=True)
class Marked(Kind):
    """Lines of ours between marks in a file of somebody else."""

    machine: host.Machine
    path: str
    name: str
    lines: tuple[str, ...]

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return the lines with their marks."""
        begin, end = marked.marks(self.name)
        return self.path, (begin, *self.lines, end)

    def look(self) -> Look:
        """Tell by what stands between the marks."""
        folder = self.path.rpartition("/")[0]
        if self.machine.status(folder or "/") is None:
            return Look("blocked", f"there is no folder `{_short(self.machine, folder)}`")
        try:
            parts = marked.read(self.machine.path(self.path), self.name)
        except marked.UnreadableError as error:
            return Look("blocked", str(error))
        if parts is None:
            return Look("todo", "", marked.ABSENT)
        if parts.ours is None:
            return Look("todo", "", parts.kind)
        if parts.ours != self.lines:
            return Look(
                "todo",
                f"other lines stand between its marks in `{_short(self.machine, self.path)}`",
                parts.kind,
            )
        return Look("done", f"the lines are in `{_short(self.machine, self.path)}`")

    def command(self) -> tuple[str, ...]:
        """Return the program that writes them."""
        return _program("add", self.machine, self.path, self.name, *self.lines)

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return the program that takes them out."""
        return _program("take", self.machine, self.path, self.name, str(before))


@dataclass(frozen=True)
class OwnFile(Kind):
    """A file that is ours as a whole; one that says something else is somebody else's."""

    machine: host.Machine
    path: str
    lines: tuple[str, ...]

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return all of it."""
        return self.path, self.lines

    def look(self) -> Look:
        """Tell by what it says."""
        text = self.machine.text(self.path)
        if text is None:
            folder = self.path.rpartition("/")[0]
            if self.machine.status(folder) is None:
                return Look("blocked", f"there is no folder `{_short(self.machine, folder)}`")
            return Look("todo", "", marked.ABSENT)
        if text.strip() != marked.whole(self.lines).strip():
            return Look(
                "blocked",
                f"`{_short(self.machine, self.path)}` says something else than set-up would write",
            )
        return Look("done", f"`{_short(self.machine, self.path)}` is there", marked.ABSENT)

    def command(self) -> tuple[str, ...]:
        """Return the program that makes it."""
        return _program("make", self.machine, self.path, *self.lines)

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return the program that removes it."""
        del before
        return _program("remove", self.machine, self.path, *self.lines)


@dataclass(frozen=True)
class Folder(Kind):
    """A folder with its missing parents; undo removes those that are empty."""

    machine: host.Machine
    path: str

    def look(self) -> Look:
        """Tell by whether it is there; one on which something is mounted is not looked into."""
        if _mounted_at(self.machine, self.path):
            return Look("done", f"`{_short(self.machine, self.path)}` is there")
        path = self.machine.path(self.path)
        if path.is_dir():
            return Look("done", f"`{_short(self.machine, self.path)}` is there")
        return Look("todo", "", [str(one) for one in (path, *path.parents) if not one.exists()])

    def command(self) -> tuple[str, ...]:
        """Return what makes it."""
        return ("mkdir", "-p", str(self.machine.path(self.path)))

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return what removes those that were missing, the deepest first."""
        return ("rmdir", "--ignore-fail-on-non-empty", *cast("list[str]", before))


@dataclass(frozen=True)
class Mounted(Kind):
    """A file system that is mounted on a folder."""

    machine: host.Machine
    path: str

    def look(self) -> Look:
        """Tell by the kernel's list."""
        if not (found := _mounted_at(self.machine, self.path)):
            return Look("todo", "", "not mounted")
        source, kind = found
        return Look("done", f"{host.plain(source, 60)} is mounted there, as {kind}")


@dataclass(frozen=True)
class Setting(Kind):
    """A function in `settings`, and what is looked at where that has nothing to say."""

    machine: host.Machine
    name: str
    other: Kind | None

    def writes(self) -> tuple[str, tuple[str, ...]]:
        """Return what the other kind writes."""
        return self.other.writes() if self.other else ("", ())

    def look(self) -> Look:
        """Ask the function first."""
        seen = SETTINGS[self.name](self.machine)
        if seen is None and self.other is not None:
            return self.other.look()
        return seen or Look("todo")

    def command(self) -> tuple[str, ...]:
        """Return the other kind's command."""
        return self.other.command() if self.other else ()

    def undo(self, before: Any) -> tuple[str, ...]:
        """Return the other kind's way back."""
        return self.other.undo(before) if self.other else ()

    def settled(self, before: Any) -> Any:
        """Return what the other kind remembers."""
        return self.other.settled(before) if self.other else before


def kind_of(look: dict[str, Any], name: str, machine: host.Machine, home: str) -> Kind:
    """Return what a header's `look` stands for; raises ValueError for what none does.

    Args:
        look: As the header has it, with its values filled in.
        name: Of the profile and the step, for the marks.
        machine: Where it is looked at.
        home: What `~` stands for.
    """
    look = dict(look)
    setting = look.pop("setting", None)
    if setting is not None and setting not in SETTINGS:
        raise ValueError(f"no setting `{setting}`")
    other = _plain_kind(look, name, machine, home) if look else None
    if setting is not None:
        return Setting(machine, str(setting), other)
    if other is None:
        raise ValueError("an empty `look`")
    return other


def _plain_kind(look: dict[str, Any], name: str, machine: host.Machine, home: str) -> Kind:
    text = look.pop("text", None)
    lines = tuple(str(text).splitlines())
    (kind, value), *others = look.items()
    if others or (text is None) == (kind in ("lines", "file")):
        raise ValueError(f"`look` has {', '.join(look)}, and `text` goes with lines and file")
    several = cast("list[Any]", value) if isinstance(value, list) else [value]
    words = tuple(str(word) for word in several)
    path = re.sub(r"^~(?=/|$)", home, words[0])
    if kind in ("lines", "file", "folder", "mounted") and not path.startswith("/"):
        raise ValueError(f"`{path}` is no absolute path")
    if kind == "package":
        return Package(machine, words)
    if kind == "command":
        return OnPath(machine, words[0])
    if kind == "lines":
        return Marked(machine, path, name, lines)
    if kind == "file":
        return OwnFile(machine, path, lines)
    if kind == "folder":
        return Folder(machine, path)
    if kind == "mounted":
        return Mounted(machine, path)
    if kind == "member":
        return Member(machine, *words)
    if kind == "registry":
        return Registry(machine, words[0], home)
    raise ValueError(f"no kind of look is called `{kind}`")


def _short(machine: host.Machine, path: str) -> str:
    """Return a path as a person would type it."""
    return interpreters.shown(Path(path), machine.env)


def _mounted_at(machine: host.Machine, folder: str) -> tuple[str, str] | None:
    """Return source and kind of what is mounted on a folder, by the kernel's list.

    To look into a mount may wait for ever, or fail where the program behind it has ended.
    """
    for line in (machine.text("/proc/self/mounts", _MAX_BYTES) or "").splitlines():
        source, path, kind = (*line.split(" "), "", "", "")[:3]
        if path.encode().decode("unicode_escape") == folder:
            return source, kind
    return None


def _program(verb: str, machine: host.Machine, path: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-IB", marked.__file__, verb, str(machine.path(path)), *words)
