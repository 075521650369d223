"""Set-up of servers: the plan, and the cases in which nothing is started on a TPU."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.setup import test_run
from tests.setup.test_run import IDS, make, run, states
from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode
from tpustarter.setup import server_commands
from tpustarter.setup.environment import environment_proof
from tpustarter.setup.environment.environment_setup import EnvironmentSetup

TOOLS = {"uv": True, "libtpu": "0.0.50.1", "kind": "TPU v6 lite", "count": 8}
SLICE = {
    "TPU_WORKER_HOSTNAMES": "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4",
    "TPU_WORKER_ID": "0",
    "TPU_ACCELERATOR_TYPE": "v6e-16",
}


@pytest.mark.parametrize(
    ("machine", "wheels", "platform"),
    [
        ({}, ["notebook", "matplotlib", "jax"], "cpu"),
        ({"generation": "v6e", "chips": 8}, ["notebook", "matplotlib", "jax[tpu]"], "tpu"),
    ],
)
def test_the_plan_shows_how_the_server_is_proved(
    machine: dict[str, Any], wheels: list[str], platform: str, tmp_path: Path
) -> None:
    """The plan shows the server's proof: its exact command and what it must find."""
    setup = make(tmp_path, "jupyter", tools=TOOLS, **machine)
    _, _, install, prove, remember = setup.steps
    words = list(install.command)
    python, program, *rest = prove.command

    assert IDS == [step.id for step in setup.steps]
    assert wheels == words[words.index("--python") + 2 :]
    assert str(setup.folder / "bin/python") == python
    assert Path(program).is_file()
    assert [platform, "-", str(setup.folder / "bin/jupyter-notebook")] == rest[:3]
    assert {"--ServerApp.ip=127.0.0.1", "--ServerApp.allow_origin="} <= {*rest}
    assert not [word for word in rest if "token" in word.lower()]
    assert "Remember it for the next start of Jupyter" == remember.title
    assert not setup.folder.exists()


@pytest.mark.parametrize(("env", "notes"), [({"KAGGLE_KERNEL_RUN_TYPE": "Batch"}, 1), ({}, 0)])
def test_notebook_service_keeps_its_packages(
    env: dict[str, str], notes: int, tmp_path: Path
) -> None:
    """A notebook service keeps its packages, as every command uses the new folder."""
    python = make_python(tmp_path / "kernel", jax="0.7.2")
    own = {**env, "PATH": f"{python.parent}:/usr/bin:/bin"}
    setup = make(tmp_path, "jupyter", tools=TOOLS, env=own)
    installs = [step.command for step in setup.steps if "install" in step.command]

    assert notes == setup.kernel_note.count("jax 0.7.2")
    assert all(str(setup.folder / "bin/python") in words for words in installs)
    assert not [words for words in installs if str(python) in words]


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ({"holder": {"pid": 4242, "command": "python train.py"}}, "a program uses the TPU"),
        ({"env": SLICE}, "this is one of 4 hosts"),
    ],
)
def test_no_kernel_starts_on_unavailable_tpu(
    machine: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """On a TPU that isn't available no kernel starts, and what was installed stays."""
    setup = make(tmp_path, "jupyter", tools=TOOLS, generation="v6e", chips=8, **machine)
    ended = run(setup)[-1]

    assert ["done", "done", "done", "blocked", "todo"] == states(setup), ended.step.note
    assert said in ended.step.note
    assert ExitCode.INCONCLUSIVE == setup.exit_code


def test_colab_is_only_page_allowed_by_server(tmp_path: Path) -> None:
    """Colab's page is the only one that the server allows, and its proof checks that."""
    command = make(tmp_path, "colab", tools=TOOLS).steps[3].command
    page = "https://colab.research.google.com"

    assert page == command[3]
    assert f"--ServerApp.allow_origin={page}" in command
    assert "--ServerApp.allow_credentials=True" in command


def test_server_failing_at_start_shows_its_last_words(tmp_path: Path) -> None:
    """A server that fails at its start shows its last lines, and isn't remembered."""
    setup = make(tmp_path, "jupyter", tools={"uv": True})
    ended = run(setup)[-1]

    assert ("prove", "failed") == (ended.step.id, ended.step.state)
    assert "No module named" in ended.step.note
    assert "ended with exit code 1" in ended.step.note
    assert environments.find_proved_environment(environments.JUPYTER) is None


def test_server_environment_runs_no_checks_or_lessons(tmp_path: Path) -> None:
    """A server's environment isn't chosen for checks and lessons, although it has JAX."""
    made = make_python(tmp_path / "made", jax="0.12.0.1")
    environments.remember_environment(tmp_path / "made", environments.JUPYTER)
    chosen, others = interpreters.choose_interpreter(None, {"PATH": os.defpath}, tmp_path)

    assert made not in [one.path for one in (chosen, *others)]
    assert tmp_path / "made" == environments.find_proved_environment(environments.SERVED["jupyter"])


@pytest.mark.parametrize(
    ("machine", "count"),
    [
        ({}, {"JAX_NUM_CPU_DEVICES": "8"}),
        ({"generation": "v6e", "chips": 8}, {}),
        ({"env": {"JAX_NUM_CPU_DEVICES": "2"}}, {}),
        ({"env": {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}}, {}),
        ({"env": {"JAX_PLATFORMS": "tpu"}}, {}),
    ],
)
def test_kernel_without_tpu_has_devices_of_lesson(
    machine: dict[str, Any], count: dict[str, str], tmp_path: Path
) -> None:
    """A kernel without a TPU has eight devices, unless the user has set a number."""
    assert count == server_commands.virtual_devices(lay_out(tmp_path, **machine))


def test_kernel_that_keeps_tpu_is_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is content, and yet a process has the chips afterwards."""
    monkeypatch.setattr(environment_proof, "RELEASE_S", 0.5)
    (tmp_path / "held").mkdir()
    held = lay_out(tmp_path / "held", "v6e", chips=8, holder={"pid": 4242})
    make(tmp_path, "jupyter", tools=TOOLS, generation="v6e", chips=8)
    machine = test_run._MACHINES[tmp_path]
    (ours,) = locations.content_folder("lessons").glob("setup/*-jupyter-and-colab.md")
    lesson = tmp_path / "lessons/setup/10-jupyter.md"
    lesson.parent.mkdir(parents=True)
    program = ["/bin/cp", "-rv", f"{held.root}/proc/4242", f"{machine.root}/proc/"]
    command = re.compile(r"command: \[[^\]]*prove_jupyter[^\]]*\]")
    lesson.write_text(command.sub(f"command: {program}", ours.read_text()))
    setup = EnvironmentSetup("jupyter", machine=machine, lessons=tmp_path / "lessons", own=[])
    ended = run(setup)[-1]

    assert ("prove", "failed") == (ended.step.id, ended.step.state)
    assert "the proof has ended, and the TPU is still in use" == ended.step.note
