"""Commands of a machine set-up that run as root: only what was shown, by sudo or under it."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from tests.support.machine_setups import as_user, declare, machine, run
from tests.support.needs import readable_by_nobody
from tpustarter.core.problem import ExitCode
from tpustarter.setup.machine.machine_setup import MachineSetup


def test_only_shown_commands_run_as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only commands that were shown run as root; one that has changed since is blocked."""
    here = as_user(tmp_path, monkeypatch)
    steps = [
        {"id": name, "look": {"file": f"~/{name}", "text": "x"}, "needs": ["root"]}
        for name in ("one", "two")
    ]
    lessons = declare(tmp_path, *steps)
    seen = MachineSetup("tuning", machine=here, lessons=lessons).steps
    leave = {seen[0].command, (*seen[1].command, "more")}
    setup = MachineSetup("tuning", machine=here, lessons=lessons, root=leave)

    assert {"one": "done", "two": "blocked"} == run(setup)
    assert "not the one that you said yes to" in setup.steps[1].note
    assert [str(tmp_path / "tools" / "sudo"), "-n"] == list(seen[0].command[:2])


@pytest.mark.parametrize("undo", [False, True])
def test_sudo_with_password_gives_command_for_terminal(
    undo: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If sudo wants a password, its steps give a command for a terminal, and others still run."""
    here = as_user(tmp_path, monkeypatch)
    steps = [
        {"id": name, "look": {"file": f"~/{name}", "text": "x"}, "needs": needs}
        for name, needs in {"one": ["root"], "two": ["root"], "mine": []}.items()
    ]
    lessons = declare(tmp_path, *steps)
    if undo:
        run(MachineSetup("tuning", machine=here, lessons=lessons, root=True))
    (here.root / "refuses").touch()
    setup = MachineSetup("tuning", machine=here, lessons=lessons, root=True)
    ended = run(setup, undo=undo)

    assert {"one": "blocked", "two": "blocked", "mine": "undone" if undo else "done"} == ended
    notes = {step.note for step in setup.steps if step.state == "blocked"}
    assert 1 == len(notes)
    assert f"setup tuning{' --undo' * undo} --yes --root" in notes.pop()
    assert ExitCode.INCONCLUSIVE == setup.exit_code or undo
    said = setup.log.read_text()
    assert 1 == said.count("a password is required\n")


def test_root_step_under_sudo_runs_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under sudo a root step runs directly, and the others run as the caller."""
    if os.geteuid() != 0 or not readable_by_nobody():
        pytest.skip("This needs root, and a Python and a checkout that an ordinary user may read.")
    nobody = pwd.getpwnam("nobody")
    monkeypatch.setenv("SUDO_UID", str(nobody.pw_uid))
    monkeypatch.setenv("SUDO_GID", str(nobody.pw_gid))
    script = 'test "$(id -u)" = "$1"'
    steps = [
        {
            "id": name,
            "look": "proof",
            "command": ["sh", "-c", script, "sh", str(user)],
            "needs": needs,
        }
        for name, user, needs in (("one", 0, ["root"]), ("two", nobody.pw_uid, []))
    ]
    here = machine(tmp_path)
    setup = MachineSetup("tuning", machine=here, lessons=declare(tmp_path, *steps), root=True)

    assert {"one": "done", "two": "done"} == run(setup), setup.steps
