"""Entries for TPUs between marker lines in the user's ssh configuration; nothing else changes.

They come first, because ssh uses the first value that it finds, and they end with `Host *`, so that
the lines after them still apply to every host. Source: https://man.openbsd.org/ssh_config (read
2026-11).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem

BEGIN = b"# >>> tpustarter tpu ssh-config >>>"
END = b"# <<< tpustarter tpu ssh-config <<<"
MAX_BYTES = 4 * 1024 * 1024

_INTRODUCTION = """\
# Written by `tpustarter tpu ssh-config`, which replaces these lines; `--remove` takes them away.
# A worker's host key is stored at the first connection, and another one is refused afterwards.
"""
_REST = "# What follows applies to every host, as it did before.\nHost *\n"
_HEADING = re.compile(r"# TPU (\S+) in zone (\S+) of project (\S+)")


@dataclass(frozen=True)
class SshEntry:
    """The lines of one TPU in an ssh configuration."""

    name: str
    zone: str
    project: str
    text: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return project, zone and name, which together are unique in a file."""
        return (self.project, self.zone, self.name)


@dataclass(frozen=True)
class SshConfigFile:
    """A configuration in three parts: lines before the entries, the entries, lines after."""

    path: Path
    """Path of the file, with all links resolved."""
    before: bytes
    entries: tuple[SshEntry, ...]
    after: bytes
    data: bytes
    """The whole content."""
    mode: int


def default_ssh_config_path() -> Path:
    """Return the path of the user's own configuration."""
    return Path.home() / ".ssh/config"


def make_entry(workers: Sequence[Worker], *, iap: bool, user: str) -> SshEntry:
    """Return the entry of one node, for all its workers."""
    node = workers[0].node
    lines = [f"# TPU {node.name} in zone {node.zone} of project {node.project}"]
    for worker in workers:
        lines.append(f"Host {' '.join(list_aliases(node, worker.number))}")
        through_iap = iap or not worker.address
        options = worker_connection.ssh_options(worker, iap=through_iap, user=user)
        lines += [f"    {key} {value}" for key, value in options]
    text = "".join(f"{line}\n" for line in lines)
    return SshEntry(node.name, node.zone, node.project, text)


def list_aliases(node: TpuNode, number: int) -> list[str]:
    """Return a worker's names for ssh: `tpu-bert-w0`, and for the first one `tpu-bert` as well."""
    own = f"tpu-{node.name}-w{number}"
    return [own] if number else [f"tpu-{node.name}", own]


def read_config(path: Path) -> SshConfigFile:
    """Read an ssh configuration, empty if there is no file; raises Problem for broken markers."""
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise Problem(f"`{path}` is not a regular file of {MAX_BYTES} bytes at most")
        data, mode = target.read_bytes(), stat.S_IMODE(status.st_mode)
    except FileNotFoundError:
        data, mode = b"", 0o600
    except OSError as error:
        raise Problem(f"cannot read `{path}`: {error.strerror or error}") from error
    lines = data.splitlines(keepends=True)
    marks = [i for i, line in enumerate(lines) if line.strip() in (BEGIN, END)]
    if not marks:
        return SshConfigFile(target, b"", (), data, data, mode)
    if [lines[i].strip() for i in marks] != [BEGIN, END]:
        numbers = ", ".join(str(i + 1) for i in marks)
        raise Problem(
            f"the marked lines of tpustarter in `{path}` are damaged: found them in line "
            f"{numbers}, expected one beginning and one end after it",
            hint=f"remove what is left of them by hand; they are `{BEGIN.decode()}` and "
            f"`{END.decode()}`",
        )
    first, last = marks
    before, ours, after = lines[:first], lines[first + 1 : last], lines[last + 1 :]
    text = b"".join(ours).decode("utf-8", "replace")
    return SshConfigFile(target, b"".join(before), _entries(text), b"".join(after), data, mode)


def _entries(text: str) -> tuple[SshEntry, ...]:
    entries: list[SshEntry] = []
    for line in text.removesuffix(_REST).splitlines(keepends=True):
        if match := _HEADING.fullmatch(line.rstrip()):
            entries.append(SshEntry(match[1], match[2], match[3]))
        if entries:
            entries[-1] = replace(entries[-1], text=entries[-1].text + line)
    return tuple(entries)


def build_config(file: SshConfigFile, entries: Collection[SshEntry]) -> bytes:
    """Return the configuration with these entries; without the marked lines if there are none."""
    if not entries:
        return file.before + file.after
    _refuse_same_names(entries)
    text = "".join(one.text for one in sorted(entries, key=lambda one: one.key))
    ours = BEGIN + b"\n" + f"{_INTRODUCTION}{text}{_REST}".encode() + END + b"\n"
    return file.before + ours + file.after


def _refuse_same_names(entries: Collection[SshEntry]) -> None:
    """Raise Problem if two TPUs have the same alias, because ssh would use the first."""
    owners: dict[str, SshEntry] = {}
    for one in entries:
        for line in one.text.splitlines():
            for alias in line.split()[1:] if line.startswith("Host ") else ():
                other = owners.setdefault(alias, one)
                if other is not one:
                    raise Problem(
                        f"`{alias}` would stand for two TPUs: `{other.name}` in {other.zone} and "
                        f"`{one.name}` in {one.zone}",
                        hint=f"`tpustarter tpu ssh-config {one.name} --zone {one.zone} --remove` "
                        "takes one of them away; then name those that you want",
                        code=ExitCode.USAGE,
                    )


def write_config(file: SshConfigFile, data: bytes) -> None:
    """Replace the configuration that was read; raises Problem, also if it has changed since."""
    try:
        locations.make_folders(file.path.parent, mode=0o700)
        now = file.path.read_bytes() if file.path.exists() else b""
        if now != file.data:
            raise Problem(
                f"`{file.path}` was changed in the meantime, so nothing was written",
                hint="run the command again",
                code=ExitCode.BUSY,
            )
        locations.replace_file(file.path, data, file.mode)
    except OSError as error:
        why = error.strerror or str(error)
        raise Problem(f"cannot write `{file.path}`: {why}", code=ExitCode.OUTPUT) from error
