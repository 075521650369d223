"""Read the dpkg and apt packages on this machine from their files; no command is run.

Source: deb-control(5) and dpkg(1), https://manpages.debian.org/dpkg (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from tpustarter.machine import host

_STATUS, _MARKED_BY_APT = "/var/lib/dpkg/status", "/var/lib/apt/extended_states"
_JOURNAL = "/var/lib/dpkg/updates"
"""Folder of dpkg's journal; empty once dpkg has finished."""
_MAX_BYTES = 64 * 1024 * 1024
_FIELDS = re.compile(r"(?m)^(Package|Status|Depends|Pre-Depends|Provides): (.*)$")
_NAME = re.compile(r"(?:^|\|)\s*([a-z0-9][a-z0-9+.-]+)")
"""Package names in a dependency such as `perl:any | awk (>= 2)`, any one of which is enough."""


@dataclass(frozen=True)
class DpkgPackages:
    """The packages that dpkg has a record of."""

    states: Mapping[str, str]
    """State of each package, such as `ok installed`, or `reinstreq half-installed`."""
    needs: Mapping[str, tuple[frozenset[str], ...]]
    """Dependencies of each package; each is a set of names, any one of which is enough."""
    provided_by: Mapping[str, frozenset[str]]
    """Present packages by each name that they satisfy: their own, and those they provide."""
    by_apt: frozenset[str]
    """Packages that apt installed only as dependencies."""
    was_killed: bool
    """True if an installation was interrupted."""

    @property
    def installed(self) -> list[str]:
        """Names of the fully installed packages."""
        return sorted(name for name, state in self.states.items() if state == "ok installed")

    @property
    def present_names(self) -> list[str]:
        """Names of the packages that are at least partly installed."""
        return sorted(name for name, state in self.states.items() if _is_there(state))

    def list_added(self, names: Collection[str], before: Collection[str]) -> list[str]:
        """Return the packages added since `before`: those in `names`, and those apt added for them.

        Other packages that were installed in the meantime are not included.
        """
        found, left = set[str](), [*names]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self._standing_for(chain(*self.needs.get(name, ())))
        return sorted(({*self.present_names} - {*before}) & found & {*names, *self.by_apt})

    def list_removable(self, came: Collection[str], names: Collection[str]) -> list[str]:
        """Return those of `came` that no other package now needs; `names` are always included."""
        left = {*came} & {*self.present_names}
        while True:
            others = [name for name in self.installed if name not in left]
            kept: set[str] = set()
            for need in chain(*(self.needs[name] for name in others)):
                fitting = self._standing_for(need)
                kept |= fitting if fitting <= left else set()
            if not kept - {*names}:
                return sorted(left)
            left -= kept - {*names}

    def _standing_for(self, names: Iterable[str]) -> set[str]:
        return {one for name in names for one in self.provided_by.get(name, ())}


def _is_there(state: str) -> bool:
    return state.rpartition(" ")[2] not in ("", "not-installed", "config-files")


def read_packages(machine: host.Machine) -> DpkgPackages:
    """Return the packages on a machine, or none if there is no dpkg."""
    states: dict[str, str] = {}
    needs: dict[str, tuple[frozenset[str], ...]] = {}
    provided: dict[str, set[str]] = {}
    for stanza in (machine.read_text(_STATUS, _MAX_BYTES) or "").split("\n\n"):
        fields = dict(_FIELDS.findall(stanza))
        name = fields.get("Package", "")
        states[name] = fields.get("Status", "").partition(" ")[2]
        lists = [fields[key].split(",") for key in ("Depends", "Pre-Depends") if key in fields]
        needs[name] = tuple(frozenset(_NAME.findall(one)) for one in chain(*lists))
        if _is_there(states[name]):
            for one in (name, *_NAME.findall(fields.get("Provides", "").replace(",", "|"))):
                provided.setdefault(one, set()).add(name)
    states.pop("", None)
    marked = machine.read_text(_MARKED_BY_APT, _MAX_BYTES) or ""
    by_apt = re.findall(r"(?m)^Package: (\S+)\n(?:Arch.*\n)?Auto-Installed: 1$", marked)
    whole = {"installed", "not-installed", "config-files"}
    halves = {state.rpartition(" ")[2] for state in states.values()} - whole
    return DpkgPackages(
        states=states,
        needs=needs,
        provided_by={name: frozenset(by) for name, by in provided.items()},
        by_apt=frozenset(by_apt),
        was_killed=bool(halves or machine.list_names(_JOURNAL)),
    )
