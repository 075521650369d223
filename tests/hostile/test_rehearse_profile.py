"""Set-up of the TPU compiler: proved by compiling, used by `rehearse` alone; jax stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.cli.test_setup import setup as tpustarter_setup
from tests.cli.test_setup import tools_of, words
from tests.setup.test_run import _MACHINES, CHECKS, IDS, make, run, states
from tests.support.fake_tools import calls
from tests.support.stub_compiler import make_compiler
from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.rehearsal.compile import compiler
from tpustarter.setup.environment import environment_facts, environment_proof, setup_profiles, steps
from tpustarter.setup.environment.environment_setup import EnvironmentSetup
from tpustarter.setup.setup_plan import StepOutput

TOOLS = {"uv": True, "compiler": True}
CHIPS = {"generation": "v6e", "chips": 8}
LINUX = setup_profiles.PROFILES["rehearse"].system

pytestmark = pytest.mark.skipif(
    " ".join((os.uname().sysname, os.uname().machine)) != LINUX,
    reason=f"The TPU compiler exists only for {LINUX}, and set-up refuses elsewhere.",
)


@pytest.fixture
def machine(tmp_path: Path) -> host.Machine:
    """Return a laptop with a fake uv that installs a stand-in for the compiler."""
    make(tmp_path, "rehearse", tools=TOOLS)
    return _MACHINES[tmp_path]


@pytest.mark.parametrize("on_tpu", [False, True])
def test_the_plan_brings_libtpu_on_every_machine(on_tpu: bool, tmp_path: Path) -> None:
    """The plan has its own folder, `jax[tpu]`, a proof that compiles and real sizes."""
    setup = make(tmp_path, "rehearse", tools=TOOLS, **(CHIPS if on_tpu else {}))
    _, _, install, prove, remember = setup.steps
    beside = ["--beside-tpu"] if on_tpu else []

    assert IDS == [step.id for step in setup.steps]
    assert tmp_path / "home" / "tpu-rehearse" == setup.folder
    assert ("jax[tpu]", "todo") == (install.command[-1], install.state)
    assert "a download of 400 MB" in install.needs
    assert [
        "rehearse",
        "jax.devices_visible",
        "--tpu",
        environment_proof.TPU,
        *beside,
        "--compiler",
        str(setup.folder),
    ] == list(prove.command[1:])
    assert "on a TPU machine, chips that no other program uses" in prove.needs
    assert "for rehearsals" in remember.title
    assert [] == calls(tmp_path / "tools")
    assert not setup.folder.exists()


@pytest.mark.parametrize("tools", [TOOLS, {"python": True, "compiler": True}])
def test_run_installs_compiler_used_only_by_rehearsal(
    tools: dict[str, bool], tmp_path: Path
) -> None:
    """Only `rehearse` uses the compiler that this profile installs, with uv or without."""
    setup = make(tmp_path, "rehearse", tools=tools)
    texts = [one.text for one in setup.run() if isinstance(one, StepOutput)]
    python = setup.folder / "bin/python"

    assert ["done"] * 5 == states(setup), [step.note for step in setup.steps]
    assert "add_one for v5e-1: compiles" in texts
    told = "jax 0.12.0.1 with libtpu 0.0.50.1 compiles for v5e-1; nothing was run"
    assert told == setup.steps[3].note
    assert python == compiler.find_compiler_python(None, _MACHINES[tmp_path])
    chosen, others = interpreters.choose_interpreter(
        None, {"PATH": "", "HOME": str(tmp_path)}, tmp_path
    )
    assert python not in [one.path for one in (chosen, *others)]
    assert (environments.find_proved_environment(), setup.folder) == (
        None,
        environments.find_proved_environment(environments.COMPILES),
    )
    before = calls(tmp_path / "tools")
    again = make(tmp_path, "rehearse")
    assert ["done"] * 5 == states(again)
    assert [] == list(again.run())
    assert before == calls(tmp_path / "tools")


def test_compiler_profile_outranks_active_environment(tmp_path: Path) -> None:
    """The compiler of the profile wins over an active environment, and `--compiler` over both."""
    setup = make(tmp_path, "rehearse", tools=TOOLS)
    run(setup)
    active = make_compiler(tmp_path / "active")
    env = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": ""}
    found = [one.path for one in interpreters.find_pythons_with_libtpu(env, tmp_path)]

    assert [setup.folder / "bin/python", active] == found
    assert active == compiler.find_compiler_python(str(active), host.Machine(env=env))


def test_both_profiles_live_side_by_side(tmp_path: Path) -> None:
    """Both profiles are remembered under their own names, and undoing one keeps the other."""
    made = {name: make(tmp_path, name, tools=TOOLS) for name in ("jax", "rehearse")}
    for one in made.values():
        run(one)

    assert [["done"] * 5] * 2 == [states(make(tmp_path, name)) for name in made]
    removed = make(tmp_path, "rehearse").removed_by_undo()
    assert "its place among the environments that `tpustarter rehearse` looks for" in removed
    list(make(tmp_path, "rehearse").undo())
    assert (made["jax"].folder, None) == (
        environments.find_proved_environment(),
        environments.find_proved_environment(environments.COMPILES),
    )
    assert "rehearsal" not in state.load_state(environments.STATE)
    assert not made["rehearse"].folder.exists()
    assert ["done"] * 5 == states(make(tmp_path))
    run(make(tmp_path, "rehearse"))
    list(make(tmp_path).undo())
    assert (None, made["rehearse"].folder) == (
        environments.find_proved_environment(),
        environments.find_proved_environment(environments.COMPILES),
    )


def test_an_environment_is_of_one_profile(tmp_path: Path) -> None:
    """An environment of one profile is neither changed nor removed by the other one."""
    run(make(tmp_path, tools=TOOLS))
    taken = tmp_path / "home" / "tpu"
    with pytest.raises(Problem, match="is the environment of `tpustarter setup jax`") as problem:
        EnvironmentSetup(
            "rehearse", machine=_MACHINES[tmp_path], folder=taken, checks=CHECKS, own=[]
        )

    assert ExitCode.INCONCLUSIVE == problem.value.code
    assert ["done"] * 5 == states(make(tmp_path))


def crashing(folder: Path) -> Path:
    """Return a folder of checks whose program ends the compiler's process."""
    checks = Path(shutil.copytree(CHECKS, folder / "crashing"))
    check = checks / "jax" / "devices_visible.py"
    check.write_text(check.read_text().replace("return x + 1", "__import__('os').abort()"))
    return checks


@pytest.mark.parametrize(
    ("env", "crashes", "expected"),
    [
        ({"STUB_REFUSES": "v5e:1x1"}, False, "the compiler refused v5e:1x1: v5e:1x1 is not known"),
        ({"STUB_HBM_GIB": "3"}, False, "hbm_gib_per_device 3.0, expected 15.75"),
        ({}, True, "the compiler crashed"),
    ],
)
def test_a_compiler_that_does_not_compile_proves_nothing(
    env: dict[str, str], crashes: bool, expected: str, tmp_path: Path
) -> None:
    """Refused, another TPU than the table's, or a crash: failed with its reason, not remembered."""
    make(tmp_path, "rehearse", tools=TOOLS, env=env)
    checks = crashing(tmp_path) if crashes else CHECKS
    setup = EnvironmentSetup("rehearse", machine=_MACHINES[tmp_path], checks=checks, own=[])
    ended = run(setup)[-1]

    assert ("prove", "failed") == (ended.step.id, ended.step.state)
    assert "does not compile for v5e-1: " in ended.step.note
    assert expected in ended.step.note
    again = "`tpustarter rehearse jax.devices_visible --tpu v5e-1 --compiler ~/tpu-rehearse -v`"
    assert f"{again} shows all" in ended.step.note
    assert ExitCode.FAILED == setup.exit_code
    assert environments.find_proved_environment(environments.COMPILES) is None
    with pytest.raises(Problem, match="no Python found here has the TPU compiler"):
        compiler.find_compiler_python(None, host.Machine(env={"PATH": "", "HOME": str(tmp_path)}))
    assert ["done", "done", "done", "todo", "todo"] == states(make(tmp_path, "rehearse"))


def test_installation_without_libtpu_is_failure(tmp_path: Path) -> None:
    """JAX alone is enough for the other profile, and is a failure here."""
    setup = make(tmp_path, "rehearse", tools={"uv": True})
    ended = run(setup)[-1]

    assert ("install", "failed") == (ended.step.id, ended.step.state)
    assert "the command succeeded, but libtpu is not there" in ended.step.note


def test_compiler_without_libtpu_is_found_no_more(tmp_path: Path) -> None:
    """Removed afterwards: neither done nor proved nor used; a run installs and proves it again."""
    setup = make(tmp_path, "rehearse", tools=TOOLS)
    run(setup)
    (claimed,) = setup.folder.glob("lib/python3*/site-packages/libtpu-*.dist-info")
    shutil.rmtree(claimed)

    assert ["done", "done", "todo", "todo", "todo"] == states(make(tmp_path, "rehearse"))
    with pytest.raises(Problem, match="no Python found here has the TPU compiler"):
        compiler.find_compiler_python(None, host.Machine(env={"PATH": "", "HOME": str(tmp_path)}))
    run(make(tmp_path, "rehearse"))
    assert ["done"] * 5 == states(make(tmp_path, "rehearse"))


def test_changed_libtpu_needs_new_proof(tmp_path: Path) -> None:
    """A proof is of the versions that were there, libtpu's too."""
    setup = make(tmp_path, "rehearse", tools=TOOLS)
    run(setup)
    (claimed,) = setup.folder.glob("lib/python3*/site-packages/libtpu-*.dist-info")
    claimed.rename(claimed.with_name("libtpu-0.0.51.dist-info"))

    assert ["done", "done", "done", "todo", "todo"] == states(make(tmp_path, "rehearse"))


@pytest.mark.parametrize("used", [{"holder": {"pid": 4242}}, {"lock": "live"}])
def test_busy_chips_block_only_compiler_proof(used: dict[str, object], tmp_path: Path) -> None:
    """A job on the chips blocks the proof alone, whose compiler is not even started."""
    busy, idle = tmp_path / "busy", tmp_path / "idle"
    for folder in (busy, idle):
        folder.mkdir()
    setup = make(busy, "rehearse", tools=TOOLS, **CHIPS, **used)
    events = list(setup.run())

    assert ["done", "done", "done", "blocked", "todo"] == states(setup)
    assert "a program uses the TPU" in setup.steps[3].note
    assert not any(isinstance(one, StepOutput) and "compiler " in one.text for one in events)
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    assert environments.find_proved_environment(environments.COMPILES) is None
    setup = make(idle, "rehearse", tools=TOOLS, **CHIPS)
    run(setup)
    assert ["done"] * 5 == states(setup), [step.note for step in setup.steps]


def test_unavailable_libtpu_starts_nothing(tmp_path: Path) -> None:
    """An older JAX that an installer would take there instead compiles for no TPU."""
    profile = setup_profiles.PROFILES["rehearse"]
    make(tmp_path, "rehearse", tools=TOOLS)
    found = environment_facts.collect_environment_facts(
        profile, tmp_path / "home/tpu-rehearse", _MACHINES[tmp_path], own=[]
    )
    lesson = steps.find_setup_lesson(profile)
    first = steps.list_steps(lesson, replace(found, system="Darwin arm64"))[0]

    assert "blocked" == first.state
    assert "this machine is Darwin arm64, and libtpu exists only for Linux x86_64" == first.note
    assert "done" != first.state != steps.list_steps(lesson, found)[0].state


def test_stop_during_proof_costs_only_proof(tmp_path: Path) -> None:
    """Stopped from another thread: not failed, and the next run proves it."""
    make(tmp_path, "rehearse", tools=TOOLS)
    checks = crashing(tmp_path)
    check = checks / "jax" / "devices_visible.py"
    # It hangs until it is stopped.
    hangs = check.read_text().replace("__import__('os').abort()", "__import__('time').sleep(600)")
    check.write_text(hangs)
    setup = EnvironmentSetup("rehearse", machine=_MACHINES[tmp_path], checks=checks, own=[])
    for event in setup.run():
        if isinstance(event, StepOutput) and event.text.startswith("compiler "):
            threading.Thread(target=setup.stop).start()

    assert ["done", "done", "done", "todo", "todo"] == states(setup)
    assert "stopped before it was done" in setup.steps[3].note
    assert ExitCode.INCONCLUSIVE == setup.exit_code
    before = calls(tmp_path / "tools")
    run(make(tmp_path, "rehearse"))
    assert ["done"] * 5 == states(make(tmp_path, "rehearse"))
    assert before == calls(tmp_path / "tools")


def test_help_has_the_meaning_of_profiles(machine: host.Machine) -> None:
    """Help and errors give it."""
    told, refused = tpustarter_setup(machine, "--help").stdout, tpustarter_setup(machine, "xyzzy")

    assert 2 == refused.returncode
    for one in (*setup_profiles.PROFILES.values(), *setup_profiles.MACHINE.values()):
        assert f"{one.name:<11}  {one.meaning}" in told
        assert f"~/{one.folder}" in told.replace("\n", "").replace(" ", "")
        assert f"  {one.name:<11}  {one.meaning}\n" in refused.stderr


def test_command_makes_shows_and_undoes_environment(machine: host.Machine) -> None:
    """Plan, run, run again and undo, as text and as JSON that fits the schema."""
    folder = Path(machine.env["HOME"], "tpu-rehearse")
    plan, dry = (
        tpustarter_setup(machine, "rehearse"),
        tpustarter_setup(machine, "rehearse", "--yes", "--dry-run"),
    )

    assert plan.stdout == dry.stdout
    assert plan.stdout.startswith("This is the plan to install jax with libtpu in ~/tpu-rehearse.")
    assert (
        "To run the steps that are left: tpustarter setup rehearse --yes"
        == plan.stdout.splitlines()[-1]
    )
    assert not folder.exists()
    done = tpustarter_setup(machine, "rehearse", "--yes")
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    last = "~/tpu-rehearse is ready. Next: tpustarter rehearse"
    assert last == done.stdout.splitlines()[-1]  # nobody is told to work in it
    fields = json.loads(tpustarter_setup(machine, "rehearse", "--json").stdout)
    schema = resources.files("tpustarter.setup").joinpath("schema.json").read_text()
    jsonschema.Draft202012Validator(json.loads(schema)).validate(fields)
    assert ("rehearse", "setup/the-tpu-compiler") == (fields["profile"], fields["lesson"])
    assert ["done"] * 5 == [one["state"] for one in fields["steps"]]
    taken = tpustarter_setup(machine, "--folder", str(folder), "--undo", "--yes")
    assert (3, True) == (taken.returncode, "`tpustarter setup rehearse`" in taken.stderr)
    undone = tpustarter_setup(machine, "rehearse", "--undo", "--yes")
    assert "To make it again: tpustarter setup rehearse --yes" in undone.stdout
    assert not folder.exists()


def test_kill_during_proof_costs_only_proof(machine: host.Machine) -> None:
    """After a kill during the proof, only the proof is repeated."""
    with subprocess.Popen(
        words(machine, "-", "rehearse", "--yes"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("run     prove"):
                process.kill()

    assert -signal.SIGKILL == process.returncode
    assert environments.find_proved_environment(environments.COMPILES) is None
    assert 0 == tpustarter_setup(machine, "rehearse", "--yes").returncode
    assert ["python", "venv", "pip"] == calls(tools_of(machine))
