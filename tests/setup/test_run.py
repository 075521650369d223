"""Set-up: plan, runs, failures and undoing on laid-out machines, with tools without a network."""

from __future__ import annotations

import errno
import json
import os
import pwd
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_tools import behave, calls, lay_tools
from tests.support.machines import lay_out
from tests.support.needs import readable_by_nobody
from tests.support.places import TESTS
from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import locations, state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.running import supervised_command
from tpustarter.setup.environment import environment_facts
from tpustarter.setup.environment import made_environment as folders
from tpustarter.setup.environment.environment_setup import EnvironmentSetup
from tpustarter.setup.setup_plan import StepEnded, StepOutput, StepStarted
from tpustarter.text import terminal

CHECKS = TESTS / "samples" / "machine_checks"
IDS = ["python", "environment", "install", "prove", "remember"]


def make(
    tmp_path: Path, profile: str = "jax", *, tools: dict[str, Any] | None = None, **machine: Any
) -> EnvironmentSetup:
    """Return a set-up on a laid-out machine with fake tools, laid out on the first call."""
    here, bin_folder = tmp_path / "machine", tmp_path / "tools"
    if not bin_folder.exists():
        here.mkdir()
        (tmp_path / "home").mkdir()
        lay_tools(bin_folder, **(tools or {}))
        env = {"PATH": str(bin_folder), "HOME": str(tmp_path / "home"), **machine.pop("env", {})}
        made = lay_out(here, machine.pop("generation", None), env=env, **machine)
        _MACHINES[tmp_path] = made
    return EnvironmentSetup(profile, machine=_MACHINES[tmp_path], checks=CHECKS, own=[])


_MACHINES: dict[Path, Any] = {}


def states(setup: EnvironmentSetup) -> list[str]:
    """Return the state of each step."""
    return [step.state for step in setup.steps]


def run(setup: EnvironmentSetup) -> list[StepEnded]:
    """Run a set-up and return how its steps ended."""
    return [event for event in setup.run() if isinstance(event, StepEnded)]


@pytest.mark.parametrize(
    ("tools", "machine", "expected"),
    [
        ({}, {}, ("blocked", "python3.12", "jax")),
        ({"python": True}, {}, ("done", "python3.12", "jax")),
        ({"uv": True}, {}, ("todo", "uv", "jax")),
        ({"uv": True, "python": True}, {"generation": "v6e"}, ("done", "uv", "jax[tpu]")),
    ],
)
def test_plan_uses_tools_of_machine(
    tools: dict[str, bool], machine: dict[str, Any], expected: tuple[str, str, str], tmp_path: Path
) -> None:
    """Uv where there is one, else a Python; `jax[tpu]` on a TPU machine; nothing is made."""
    setup = make(tmp_path, tools=tools, **machine)
    python, environment_step, install, *_ = setup.steps
    program = Path(environment_step.command[0]).name

    assert IDS == [step.id for step in setup.steps]
    assert expected == (python.state, program, install.command[-1])
    assert ["todo"] * 4 == states(setup)[1:]
    assert all(step.why and step.changes for step in setup.steps)
    assert not setup.folder.exists()
    assert [] == calls(tmp_path / "tools")
    assert 0 == setup.exit_code


def test_missing_python_is_blocked_with_commands(tmp_path: Path) -> None:
    """Blocked: the commands are shown, and none is run."""
    setup = make(tmp_path)
    (ended,) = run(setup)

    assert "blocked" == ended.step.state
    assert "\n  sudo add-apt-repository ppa:deadsnakes/ppa\n" in ended.step.note
    assert "astral.sh/uv/install.sh" in ended.step.note
    assert ExitCode.INCONCLUSIVE == setup.exit_code


def test_pyenv_and_uv_pythons_are_found_without_shims(tmp_path: Path) -> None:
    """Pythons of pyenv and uv are found as real versions, not as shims."""
    shims, versions = tmp_path / ".pyenv/shims", tmp_path / ".pyenv/versions"
    for path in (
        shims,
        versions / "3.12.9/bin",
        versions / "3.12.10/bin",
        versions / "3.13.0t/bin",
    ):
        path.mkdir(parents=True)
        shutil.copy("/bin/true", path / "python3.12")
    env = {"PATH": str(shims), "HOME": str(tmp_path)}

    found = environment_facts.find_python(env, tmp_path, tmp_path / "tpu", ("3.12", "3.13"))

    assert versions / "3.12.10/bin/python3.12" == found
    shutil.rmtree(versions)
    assert environment_facts.find_python(env, tmp_path, tmp_path / "tpu", ("3.12", "3.13")) is None
    kept = tmp_path / ".local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu/bin"
    kept.mkdir(parents=True)
    shutil.copy("/bin/true", kept / "python3.13")
    assert kept / "python3.13" == environment_facts.find_python(
        env, tmp_path, tmp_path / "tpu", ("3.12", "3.13")
    )


@pytest.mark.parametrize("tools", [{"uv": True}, {"python": True}])
def test_a_run_makes_proves_and_remembers_an_environment(
    tools: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run makes, proves and remembers an environment, with uv or without; a second is a no-op."""
    monkeypatch.setattr(terminal, "WIDTH", 50)
    setup = make(tmp_path, tools=tools)
    events = list(setup.run())

    assert ["done"] * 5 == states(setup), [step.note for step in setup.steps]
    assert 0 == setup.exit_code
    assert "8 virtual CPU devices; no TPU was tested" in setup.steps[3].note
    said = [one.text for one in events if isinstance(one, StepOutput)]
    assert "pip works" in said
    # What was tested is one line, however long, which is broken where it is shown.
    assert any(one.startswith("python ") and "virtual CPU devices)" in one for one in said), said
    assert setup.folder == environments.find_proved_environment() == tmp_path / "home" / "tpu"
    (chosen, _) = interpreters.choose_interpreter(None, {"PATH": ""}, tmp_path)
    assert (setup.folder / "bin/python", "the environment setup made") == (chosen.path, chosen.why)
    before = calls(tmp_path / "tools")
    again = make(tmp_path)
    assert ["done"] * 5 == states(again)
    assert [] == list(again.run())
    assert (before, 0) == (calls(tmp_path / "tools"), again.exit_code)


def test_only_tpu_proves_environment_on_tpu_machine(tmp_path: Path) -> None:
    """On a TPU machine only JAX on the TPU is a proof; on the CPU it fails with the reason."""
    chips = {
        "generation": "v6e",
        "chips": 8,
        "tools": {"uv": True, "libtpu": "0.0.50.1", "kind": "TPU v6 lite", "count": 8},
    }
    on_tpu, on_cpu = tmp_path / "tpu", tmp_path / "cpu"
    setup = make(on_tpu, **chips) if on_tpu.mkdir() is None else None
    ended = run(setup)

    assert ["done"] * 5 == [one.step.state for one in ended]
    assert "jax 0.12.0.1 computes on TPU v6e, 8 chips" == ended[3].step.note
    on_cpu.mkdir()
    setup = make(on_cpu, env={"JAX_PLATFORMS": "cpu"}, **chips)
    ended = run(setup)
    assert "failed" == ended[-1].step.state
    assert "expected a TPU\n`unset JAX_PLATFORMS`" in ended[-1].step.note
    assert ExitCode.FAILED == setup.exit_code


def test_a_busy_tpu_blocks_the_proof_alone(tmp_path: Path) -> None:
    """A TPU in use blocks the proof alone: the job is named, and what was installed stays."""
    holder = {"pid": 4242, "command": "python train.py"}
    tools = {"uv": True, "libtpu": "0.0.50.1", "kind": "TPU v6 lite", "count": 8}
    setup = make(tmp_path, tools=tools, generation="v6e", chips=8, holder=holder)
    ended = run(setup)

    assert ["done", "done", "done", "blocked", "todo"] == states(setup)
    assert "pid 4242" in ended[-1].step.note
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    assert environments.find_proved_environment() is None


@pytest.mark.parametrize(
    ("verb", "does", "hint"),
    [
        ("python", {"say": "error: Failed to download https://x\n", "code": 2}, "was not reached"),
        (
            "python",
            {"say": "Failed to download `https://x/python-build-standalone/y`\n", "code": 1},
            "`curl -sSI https://github.com` shows",
        ),
        (
            "pip",
            {"say": "ProxyError('Cannot connect to proxy.', Connection refused)\n", "code": 1},
            "`env | grep -i _proxy` shows",
        ),
        (
            "venv",
            {"say": "ensurepip is not\navailable; ensurepip is not available\n", "code": 1},
            "sudo apt install python3.12-venv",
        ),
        ("pip", {"say": "ERROR: [Errno 28] No space left on device\n", "code": 1}, "df -h ~/tpu"),
        ("pip", {"say": "dns error: Name or service not known\n", "code": 2}, "was not reached"),
        ("pip", {"say": "ERROR: No matching distribution found for jax\n", "code": 1}, "uname -m"),
        ("pip", {"say": "Collecting jax\n", "signal": 9}, "free -h"),
        ("pip", {"say": "what nobody knows\n", "code": 7}, "ended with exit code 7"),
    ],
)
def test_failing_step_is_explained_by_its_last_lines(
    verb: str, does: dict[str, Any], hint: str, tmp_path: Path
) -> None:
    """A failing step is explained by its last lines and a hint."""
    setup = make(tmp_path, tools={"uv": True, "python": verb == "venv"})
    behave(tmp_path / "tools", **{verb: does})
    ended = run(setup)[-1]

    assert "failed" == ended.step.state
    assert does["say"].splitlines()[-1] == ended.tail[-1]
    assert hint in ended.step.note
    assert ended.tail[-1] in ended.log.read_text()
    assert ExitCode.FAILED == setup.exit_code
    assert environments.find_proved_environment() is None
    behave(tmp_path / "tools")
    again = make(tmp_path)
    list(again.run())
    assert ["done"] * 5 == states(again)


def test_false_success_of_command_is_detected(tmp_path: Path) -> None:
    """Exit code 0 without the package is a failure."""
    setup = make(tmp_path, tools={"uv": True, "jax": None})
    ended = run(setup)[-1]

    assert ("install", "failed") == (ended.step.id, ended.step.state)
    assert "jax is not there" in ended.step.note


def test_hostile_output_is_plain_text_without_secrets(tmp_path: Path) -> None:
    """Escape sequences, carriage returns, bells and secrets of a tool are not in event or log."""
    say = (
        "\x1b[31mred\x1b[0m \x1b]0;title\x07[bold]x[/bold]\n10%\r55%\r100%\r\nbell\x07\xff\n"
        "https://me:hunter@two@host/simple\ntoken-value-1\n" + "y" * 300_000 + "\nlast"
    )
    setup = make(tmp_path, tools={"uv": True}, env={"MY_TOKEN": "token-value-1"})
    behave(tmp_path / "tools", pip={"say": say})
    texts = [one.text for one in setup.run() if isinstance(one, StepOutput)]
    log = setup.log.read_text()

    assert "red [bold]x[/bold]" in texts
    assert {"100%", "bell\\x07\ufffd", "https://[login]@host/simple", "[$MY_TOKEN]", "last"} <= {
        *texts
    }
    assert all(one.isprintable() and len(one) <= 2000 for one in texts)
    assert "\x1b" not in log
    assert not any(secret in log for secret in ("hunter", "two@", "token-value-1"))
    assert "token-value-1" not in json.dumps(setup.fields())


def test_stop_ends_command_and_later_run_continues(tmp_path: Path) -> None:
    """Stopped from another thread: the command is gone, nothing failed, exit 3."""
    setup = make(tmp_path, tools={"uv": True})
    behave(tmp_path / "tools", pip={"sleep": 60})
    for event in setup.run():
        if isinstance(event, StepOutput) and event.text == "pip works":
            threading.Thread(target=setup.stop).start()
    process = int((tmp_path / "tools" / "pid").read_text())

    assert ["done", "done", "todo", "todo", "todo"] == states(setup)
    assert "stopped before it was done; run this again to go on" == setup.steps[2].note
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    assert not Path(f"/proc/{process}").exists()
    behave(tmp_path / "tools")
    again = make(tmp_path)
    assert ["done", "done", "todo", "todo", "todo"] == states(again)
    list(again.run())
    assert ["done"] * 5 == states(again)


def test_stop_before_command_and_failure_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop before the command and a failure after it leave the step to do, with one note."""
    setup, broken = make(tmp_path, tools={"uv": True}), make(tmp_path, tools={"uv": True})

    def fail(*_: object) -> Iterator[StepOutput]:
        broken.stop()
        yield StepOutput("it is stopped")
        raise Problem("the folder has vanished", hint="make it again")

    monkeypatch.setattr(broken, "_carry_out", fail)
    for event in setup.run():
        if isinstance(event, StepStarted):
            setup.stop()
    list(broken.run())

    said = "stopped before it was done; run this again to go on"
    assert [("todo", said)] * 2 == [
        (one.steps[0].state, one.steps[0].note) for one in (setup, broken)
    ]


def test_under_sudo_everything_belongs_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment, marker, state and log are of the user who called sudo, and so are commands."""
    if os.geteuid() != 0 or not readable_by_nobody():
        pytest.skip("This needs root, and a Python and a checkout that an ordinary user may read.")
    nobody = pwd.getpwnam("nobody")
    make(tmp_path, tools={"uv": True, "python": True})
    open_to_all = [one for one in tmp_path.parents if str(one) not in ("/", "/tmp")]
    for path in (tmp_path, *open_to_all):
        path.chmod(0o755)
    for path in (tmp_path / "home", *(tmp_path / "tools").rglob("*"), tmp_path / "tools"):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    monkeypatch.setenv("SUDO_UID", str(nobody.pw_uid))
    monkeypatch.setenv("SUDO_GID", str(nobody.pw_gid))
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / "home" / "state"))
    folder = tmp_path / "home" / "tpu"
    setup = EnvironmentSetup(machine=_MACHINES[tmp_path], folder=folder, checks=CHECKS, own=[])
    list(setup.run())

    assert ["done"] * 5 == states(setup), [step.note for step in setup.steps]
    made = (tmp_path / "home").rglob("*")
    assert [] == [path for path in made if path.lstat().st_uid != nobody.pw_uid]


@pytest.mark.parametrize("number", range(4))
def test_foreign_folder_is_left_alone(number: int, tmp_path: Path) -> None:
    """Files, another environment, a copy of ours, or a file in its place: blocked, not touched."""
    setup = make(tmp_path, tools={"uv": True})
    if number == 0:
        (setup.folder / "work").mkdir(parents=True)
    elif number == 1:
        (setup.folder / "bin").mkdir(parents=True)
        (setup.folder / "bin" / "python").symlink_to(sys.executable)
    elif number == 2:
        list(setup.run())
        shutil.move(setup.folder, setup.folder.with_name("moved"))
        shutil.copytree(setup.folder.with_name("moved"), setup.folder, symlinks=True)
        marker = setup.folder / folders.MARKER
        marker.write_text(marker.read_text().replace('home/tpu"', 'home/moved"'))
    else:
        setup.folder.write_text("a file")
    before = sorted(str(path) for path in setup.folder.rglob("*"))
    setup = make(tmp_path)
    count = len(calls(tmp_path / "tools"))
    ended = run(setup)[-1]

    assert ("environment", "blocked") == (ended.step.id, ended.step.state)
    assert "not empty" in ended.step.note or "is not a folder" in ended.step.note
    assert before == sorted(str(path) for path in setup.folder.rglob("*"))
    assert count == len(calls(tmp_path / "tools"))
    with pytest.raises(Problem, match="not a folder that set-up made"):
        setup.undo()


@pytest.mark.parametrize("was_there", [False, True])
def test_undo_removes_only_files_of_setup(was_there: bool, tmp_path: Path) -> None:
    """The folder goes if set-up made it; files put there since are a reason to refuse."""
    setup = make(tmp_path, tools={"uv": True})
    if was_there:
        setup.folder.mkdir()
    list(setup.run())
    (setup.folder / "train.py").write_text("mine")

    with pytest.raises(Problem, match=r"did not make: `train\.py`"):
        setup.undo()
    assert setup.folder == environments.find_proved_environment()
    (setup.folder / "train.py").unlink()
    assert "~/tpu" in setup.removed_by_undo()[0]
    ended = list(setup.undo())
    assert ["remember", "prove", "install", "environment"] == [one.step.id for one in ended]
    assert {"undone"} == {one.step.state for one in ended}
    assert (was_there, 0) == (setup.folder.exists(), setup.exit_code)
    assert environments.find_proved_environment() is None
    assert [
        "done" if calls(tmp_path / "tools")[0] == "python" else "todo",
        *["todo"] * 4,
    ] == states(make(tmp_path))


def test_interrupted_undo_can_be_repeated(tmp_path: Path) -> None:
    """An interrupted undo can be repeated: half an environment is still known as ours."""
    setup = make(tmp_path, tools={"uv": True})
    list(setup.run())
    shutil.rmtree(setup.folder / "bin")
    setup = make(tmp_path)

    assert ["done", "todo", "todo", "todo", "todo"] == states(setup)
    list(setup.undo())
    assert not setup.folder.exists()


def test_two_setups_do_not_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another set-up is running, the second one waits briefly and then says so."""
    monkeypatch.setattr(folders, "LOCK_WAIT_S", 0.2)
    setup = make(tmp_path, tools={"uv": True})
    with (
        folders.hold_setup_lock(),
        pytest.raises(Problem, match="another `tpustarter setup` is running"),
    ):
        list(setup.run())


def test_an_interrupted_installation_is_done_from_its_beginning(tmp_path: Path) -> None:
    """After an interrupted installation, half-installed packages are installed again."""
    setup = make(tmp_path, tools={"uv": True})
    behave(tmp_path / "tools", pip={"code": 1})
    run(setup)
    assert "--reinstall" not in make(tmp_path).steps[2].command
    (packages,) = setup.folder.glob("lib/python3*/site-packages")
    (packages / "numpy-2.5.5.dist-info").mkdir()
    again = make(tmp_path)
    assert "--reinstall" in again.steps[2].command
    behave(tmp_path / "tools")
    run(again)

    assert ["done"] * 5 == states(make(tmp_path))
    folders.write_marker(setup.folder, wheel="jax[other]")  # as on a machine that had no TPU before
    behave(tmp_path / "tools", pip={"code": 1})
    run(make(tmp_path))
    assert "--reinstall" in make(tmp_path).steps[2].command


def test_user_files_survive_environment_without_python(tmp_path: Path) -> None:
    """An environment without its Python is remade, unless it has the user's files."""
    setup = make(tmp_path, tools={"uv": True})
    run(setup)
    (setup.folder / "bin/python").unlink()
    (setup.folder / "train.py").write_text("mine")
    ended = run(make(tmp_path))[-1]

    assert ("environment", "blocked") == (ended.step.id, ended.step.state)
    assert "`~/tpu` contains files that set-up did not make: `train.py`" in ended.step.note
    (setup.folder / "train.py").unlink()
    again = make(tmp_path)
    assert "it is removed first" in again.steps[1].note
    run(again)
    assert ["done"] * 5 == states(again)


def test_undo_needs_no_space_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo needs no space on the disk, because a full disk is why people undo."""
    setup = make(tmp_path, tools={"uv": True})
    run(setup)
    real = os.fsync

    def full(descriptor: int) -> None:
        if (setup.folder / "lib").exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    list(setup.undo())

    assert not setup.folder.exists()
    assert "environment" not in state.load_state(environments.STATE)


def test_an_environment_in_use_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program started from it is named; the environment tpustarter runs in stays."""
    setup = make(tmp_path, tools={"uv": True})
    run(setup)
    sleep = shutil.copy(shutil.which("sleep") or "", setup.folder / "bin")
    with subprocess.Popen([sleep, "600"]) as process:
        try:
            with pytest.raises(Problem, match=f"are still running: pid `{process.pid}`"):
                setup.undo()
        finally:
            process.kill()
    monkeypatch.setattr(sys, "prefix", str(setup.folder))
    with pytest.raises(Problem, match="tpustarter itself runs in"):
        setup.undo()

    assert ["done"] * 5 == states(make(tmp_path))


DAMAGED = (
    {"done": 5},
    {"done": None},
    {"proof": [1]},
    {"packages": 4},
    {"folder": 5},
    {"folder": "a\0b"},
    {"schema": "tpustarter.marker/2"},
    "[" * 100_000,
)


def test_a_damaged_marker_is_no_marker(tmp_path: Path) -> None:
    """Whatever it holds, the plan is shown, and a folder that may not be ours is not touched."""
    setup = make(tmp_path, tools={"uv": True})
    run(setup)
    marker = setup.folder / folders.MARKER
    whole = json.loads(marker.read_text())
    for damage in DAMAGED:
        marker.write_text(damage if isinstance(damage, str) else json.dumps(whole | damage))

        assert "blocked" == make(tmp_path).steps[1].state, damage
        with pytest.raises(Problem, match="not a folder that set-up made"):
            setup.undo()
    marker.write_text(json.dumps(whole))
    assert "done" == make(tmp_path).steps[1].state


def test_folder_in_place_of_python_is_no_python(tmp_path: Path) -> None:
    """The right to enter a folder is no program."""
    setup = make(tmp_path, tools={"uv": True})
    run(setup)
    (setup.folder / "bin/python").unlink()
    (setup.folder / "bin/python").mkdir()

    assert environments.find_proved_environment() is None
    assert "todo" == make(tmp_path).steps[1].state


def test_invalid_remembered_path_is_forgotten(tmp_path: Path) -> None:
    """A zero byte in the state is no path."""
    state.save_state(environments.STATE, {"environment": "a\0b"})

    assert environments.find_proved_environment() is None
    assert 5 == len(make(tmp_path, tools={"uv": True}).steps)


def test_unprintable_or_impossible_folder_name_is_refused(tmp_path: Path) -> None:
    """A folder name that can't be printed, or is too long for the disk, is refused."""
    machine = make(tmp_path, tools={"uv": True}) and _MACHINES[tmp_path]
    with pytest.raises(Problem, match="cannot be shown"):
        EnvironmentSetup(machine=machine, folder=tmp_path / "a\nb", own=[])
    setup = EnvironmentSetup(machine=machine, folder=tmp_path / ("a" * 300), own=[])

    assert "File name too long" in run(setup)[-1].step.note
    with pytest.raises(Problem, match="does not exist"):
        setup.undo()


def test_unwritable_lock_is_problem(tmp_path: Path) -> None:
    """A link of root's in the state folder is a message, not a bug."""
    setup = make(tmp_path, tools={"uv": True})
    (locations.make_state_folder() / "setup.lock").symlink_to("/proc/nowhere/lock")

    with pytest.raises(Problem, match="cannot write"):
        list(setup.run())


def test_silent_command_shows_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prints nothing for minutes, such as a download, shows progress."""
    monkeypatch.setattr(supervised_command, "QUIET_S", 0.01)
    setup = make(tmp_path, tools={"uv": True})
    behave(tmp_path / "tools", pip={"sleep": 1})
    texts = [one.text for one in setup.run() if isinstance(one, StepOutput)]

    assert any(text.startswith("... still running, ") for text in texts)


def test_variables_redirect_no_installation(tmp_path: Path) -> None:
    """Another Python or root is taken out, and uv puts no link of its Python into ~/.local/bin."""
    setup = make(tmp_path, tools={"uv": True}, env={"PIP_PYTHON": "/x", "PIP_ROOT": "/y"})
    run(setup)
    seen = json.loads((tmp_path / "tools" / "env.json").read_text())

    assert {"UV_PYTHON_INSTALL_BIN": "0"} == {
        name: seen[name]
        for name in ("PIP_PYTHON", "PIP_ROOT", "UV_PYTHON_INSTALL_BIN")
        if name in seen
    }
