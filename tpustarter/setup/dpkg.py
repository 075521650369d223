"""What dpkg and apt say of the packages on this machine: read from their files, nothing is started.

Source: deb-control(5) and dpkg(1), https://manpages.debian.org/dpkg (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tpustarter.machine import host

_STATUS, _MARKED_BY_APT = "/var/lib/dpkg/status", "/var/lib/apt/extended_states"
_JOURNAL = "/var/lib/dpkg/updates"
"""Where dpkg writes first what it does; empty once it has ended."""
_MAX_BYTES = 64 * 1024 * 1024
_FIELDS = re.compile(r"(?m)^(Package|Status|Depends|Pre-Depends|Provides): (.*)$")
_NAMES = re.compile(r"(?:^|[,|]\s*)([a-z0-9][a-z0-9+.-]+)")
"""Names of packages in a list such as `libc6 (>= 2.34), perl:any | awk`."""


@dataclass(frozen=True)
class Packages:
    """The packages that dpkg knows of."""

    states: Mapping[str, str]
    """Such as `ok installed`, or `reinstreq half-installed`."""
    needs: Mapping[str, frozenset[str]]
    """What each depends on: names of packages, and of what others provide."""
    provided_by: Mapping[str, frozenset[str]]
    by_apt: frozenset[str]
    """Those that apt installed because others need them, and nobody asked for."""
    was_killed: bool
    """Whether an installation did not come to its end."""

    @property
    def installed(self) -> list[str]:
        """Return the names of those that are installed as a whole."""
        return sorted(name for name, state in self.states.items() if state == "ok installed")

    def came(self, names: Collection[str], before: Collection[str]) -> list[str]:
        """Return what was not installed before, of these and of what apt brought for them.

        Whatever else was installed in the meantime is not among them.
        """
        found, left = set[str](), [*names]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                needs = self.needs.get(name, frozenset())
                left += [one for need in needs for one in self.provided_by.get(need, {need})]
        return sorted(({*self.installed} - {*before}) & found & {*names, *self.by_apt})

    def removable(self, came: Collection[str], names: Collection[str]) -> list[str]:
        """Return these without those that another package has come to need; `names` stay in."""
        left = {*came} & {*self.installed}
        while True:
            others = [name for name in self.installed if name not in left]
            needed = {need for name in others for need in self.needs.get(name, ())}
            kept = {
                name for name in left - {*names}
                if needed & {name, *(one for one, by in self.provided_by.items() if name in by)}
            }  # fmt: skip
            if not kept:
                return sorted(left)
            left -= kept


def read(machine: host.Machine) -> Packages:
    """Return what is known of the packages on a machine; none where there is no dpkg."""
    states: dict[str, str] = {}
    needs: dict[str, frozenset[str]] = {}
    provided: dict[str, set[str]] = {}
    for stanza in (machine.text(_STATUS, _MAX_BYTES) or "").split("\n\n"):
        fields = dict(_FIELDS.findall(stanza))
        name = fields.get("Package", "")
        states[name] = fields.get("Status", "").partition(" ")[2]
        lists = ", ".join(fields[key] for key in ("Depends", "Pre-Depends") if key in fields)
        needs[name] = frozenset(_NAMES.findall(lists))
        if states[name] == "ok installed":
            for one in (name, *_NAMES.findall(fields.get("Provides", ""))):
                provided.setdefault(one, set()).add(name)
    states.pop("", None)
    marked = machine.text(_MARKED_BY_APT, _MAX_BYTES) or ""
    by_apt = re.findall(r"(?m)^Package: (\S+)\n(?:Arch.*\n)?Auto-Installed: 1$", marked)
    whole = {"installed", "not-installed", "config-files"}
    halves = {state.rpartition(" ")[2] for state in states.values()} - whole
    return Packages(
        states=states,
        needs=needs,
        provided_by={name: frozenset(by) for name, by in provided.items()},
        by_apt=frozenset(by_apt),
        was_killed=bool(halves or machine.names(_JOURNAL)),
    )
