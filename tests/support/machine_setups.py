"""Set-ups of a laid-out machine: its packages, its lessons, its sudo, and runs of plans."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.machines import lay_out
from tpustarter.machine import host
from tpustarter.setup.machine.machine_settings import HUGE_PAGES
from tpustarter.setup.machine.machine_setup import MachineSetup
from tpustarter.setup.setup_plan import StepEnded

STATUS = "/var/lib/dpkg/status"
"""The file in which dpkg lists the packages."""
APT = r"""#!/bin/sh
# Stands in for apt-get: installs what is named, with one package that it needs.
[ "$1" = update ] && exit
echo "$*" >> {root}/apt-calls
[ -e {root}/fails ] && exit 100
[ -e {root}/kernel-comes ] && {
    printf 'Package: kernel\nStatus: install ok installed\n\n' >> {root}/var/lib/dpkg/status
    printf 'Package: kernel\nAuto-Installed: 1\n\n' >> {root}/var/lib/apt/extended_states
}
for name do case $name in
    -*) ;;
    [a-z]*) [ "$name" = install ] || for each in "$name" "lib$name"; do
        printf 'Package: %s\nStatus: install ok installed\nDepends: lib%s (>= 1) | none:any\n\n' \
            "$each" "$each" >> {root}/var/lib/dpkg/status
        done
        printf 'Package: lib%s\nArchitecture: amd64\nAuto-Installed: 1\n\n' "$name" \
            >> {root}/var/lib/apt/extended_states ;;
esac; done
"""
DPKG = """#!/bin/sh
# Stands in for dpkg: forgets what is named.
echo "dpkg $*" >> {root}/apt-calls
for name do sed -i "/^Package: $name$/,/^$/d" {root}/var/lib/dpkg/status; done
"""


def machine(tmp_path: Path, files: Mapping[str, str] = {}, **more: Any) -> host.Machine:
    """Return a laid-out machine with these files; a name that ends with a slash is a folder."""
    root, tools = tmp_path / "machine", tmp_path / "tools"
    root.mkdir()
    tools.mkdir()
    env = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": "/home/alice"}
    made = lay_out(root, env=env, **more)
    (root / HUGE_PAGES.lstrip("/")).unlink()
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(text)
    return made


def with_apt(tmp_path: Path, installed: str = "") -> host.Machine:
    """Return a Debian machine whose apt-get installs without a network."""
    text = "".join(
        f"Package: {name}\nStatus: install ok installed\n\n" for name in installed.split()
    )
    here = machine(tmp_path, {STATUS: text, "/var/lib/apt/extended_states": ""})
    for name, program in {"apt-get": APT, "dpkg": DPKG}.items():
        path = tmp_path / "tools" / name
        path.write_text(program.replace("{root}", str(here.root)))
        path.chmod(0o755)
    return here


def declare(tmp_path: Path, *steps: dict[str, Any], **header: Any) -> Path:
    """Return a folder of lessons, one of which has these steps for the profile `tuning`."""
    whole = [
        {"title": f"Do {step['id']}", "why": "a test", "changes": "something", **step}
        for step in steps
    ]
    fields = {
        "title": "A test",
        "minutes": 1,
        "needs": {},
        "checks": [],
        "sources": [],
        "setups": {"tuning": whole},
        **header,
    }
    path = tmp_path / "lessons" / "setup" / "01-test.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{yaml.safe_dump(fields)}---\n\n# A test\n")
    return tmp_path / "lessons"


def run(setup: MachineSetup, *, undo: bool = False) -> dict[str, str]:
    """Carry out a plan, or undo it; returns the final state of each step that was run."""
    events = list(setup.undo() if undo else setup.run())
    return {one.step.id: one.step.state for one in events if isinstance(one, StepEnded)}


def home_file(here: host.Machine, name: str) -> Path:
    """Return a file in the home folder of the laid-out machine."""
    return here.root / "home/alice" / name


SUDO = """#!/bin/sh
# Stands in for sudo, which never asks here.
[ -e {root}/refuses ] && { echo "sudo: a password is required" >&2; exit 1; }
shift
exec "$@"
"""


def as_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> host.Machine:
    """Return a machine whose user is not root and has a sudo."""
    monkeypatch.setattr("tpustarter.setup.machine.root_commands.os.geteuid", lambda: 1000)
    here = machine(tmp_path)
    path = tmp_path / "tools" / "sudo"
    path.write_text(SUDO.replace("{root}", str(here.root)))
    path.chmod(0o755)
    return here
