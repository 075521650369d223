"""Set-up of the machine itself: what is seen of it, and that nothing runs as root unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tpustarter.machine import host
from tpustarter.problem import ExitCode, Problem
from tpustarter.setup import machine_setup
from tpustarter.setup.machine_setup import HUGE_PAGES, LIMITS, LOGS, TCMALLOC, TMPFILES

IDS = ["huge-pages", "after-restart", "locked-memory", "logs", "tcmalloc"]


def machine(tmp_path: Path, files: dict[str, str], **more: Any) -> host.Machine:
    """Return a laid-out machine with these files; one that ends with a slash is a folder."""
    root = tmp_path / "machine"
    root.mkdir()
    made = lay_out(root, env={"PATH": "/usr/bin:/bin"}, **more)
    (root / HUGE_PAGES.lstrip("/")).unlink()
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(text)
    return made


@pytest.mark.parametrize(
    ("step", "files", "expected"),
    [
        ("huge-pages", {HUGE_PAGES: "always [madvise] never\n"}, ("todo", "madvise")),
        ("huge-pages", {HUGE_PAGES: "[always] madvise never\n"}, ("done", "always")),
        ("huge-pages", {}, ("blocked", "")),
        ("after-restart", {}, ("blocked", "")),
        ("after-restart", {"/run/systemd/system/": "", "/etc/tmpfiles.d/": ""}, ("todo", "absent")),
        ("after-restart", {"/run/systemd/system/": "", TMPFILES: "# mine\n"}, ("blocked", "")),
        ("locked-memory", {"/etc/security/limits.d/": ""}, ("todo", "absent")),
        ("locked-memory", {LIMITS: machine_setup.FILES[LIMITS]}, ("done", "absent")),
        ("logs", {}, ("done", "")),
        ("logs", {f"{LOGS}/": ""}, ("todo", "755")),
        ("tcmalloc", {TCMALLOC: ""}, ("done", "absent")),
    ],
)
def test_the_state_of_each_step_is_what_is_seen(
    step: str, files: dict[str, str], expected: tuple[str, str], tmp_path: Path
) -> None:
    """With what was there before, for undo; a file of somebody else is left alone."""
    state, note, before = machine_setup.LOOKS[step](machine(tmp_path, files))

    assert expected == (state, before)
    assert note or state == "todo"


def test_without_leave_no_command_runs_as_root(tmp_path: Path) -> None:
    """Every step that is left says so, nothing is started, and there is nothing to undo."""
    here = machine(tmp_path, {HUGE_PAGES: "always [madvise] never\n", f"{LOGS}/": ""})
    setup = machine_setup.MachineSetup("tuning", machine=here)
    before = [step.state for step in setup.steps]
    ended = list(setup.run())

    assert IDS == [step.id for step in setup.steps]
    assert ["todo", "blocked", "blocked", "todo"] == before[:4]
    assert {"blocked"} == {event.step.state for event in ended}
    assert "`--root` allows" in ended[0].step.note
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    assert not setup.log.exists()
    with pytest.raises(Problem, match="has changed nothing on this machine"):
        setup.undo()
