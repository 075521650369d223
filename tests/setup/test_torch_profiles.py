"""Set-up of PyTorch/XLA and of TorchTPU: plans, Python versions, and what is remembered."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.setup.test_run import _MACHINES, IDS, make
from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.checking.plan import environments, interpreters
from tpustarter.machine import frameworks
from tpustarter.setup.environment import environment_facts, setup_profiles, steps

LINUX = setup_profiles.PROFILES["pytorch-xla"].system
CHIPS = {"generation": "v6e", "chips": 8}

pytestmark = pytest.mark.skipif(
    " ".join((os.uname().sysname, os.uname().machine)) != LINUX,
    reason=f"The wheels of both libraries are for {LINUX} alone, and set-up refuses elsewhere.",
)


@pytest.mark.parametrize(
    ("profile", "machine", "wheels", "proof"),
    [
        ("pytorch-xla", {}, ["torch==2.9.0", "torch_xla==2.9.0"], "torch_xla.devices_visible"),
        (
            "pytorch-xla",
            CHIPS,
            ["torch==2.9.0", "torch_xla[tpu]==2.9.0"],
            "torch_xla.devices_visible",
        ),
        ("torchtpu", {}, ["torch_tpu==0.2.0"], "torch_tpu.accelerator_visible"),
        ("torchtpu", CHIPS, ["torch_tpu==0.2.0"], "torch_tpu.accelerator_visible"),
    ],
)
def test_the_plan_names_exact_versions(
    profile: str, machine: dict[str, object], wheels: list[str], proof: str, tmp_path: Path
) -> None:
    """A folder of its own, the pair that fits, measured sizes, a proof; nothing is made."""
    setup = make(tmp_path, profile, tools={"uv": True, "python": True}, **machine)
    _, _, install, prove, _ = setup.steps
    words = list(install.command)

    assert IDS == [step.id for step in setup.steps]
    assert wheels == words[words.index("--python") + 2 :]
    assert proof == prove.proof
    assert any(need.startswith("a download of") and "GB" in need for need in install.needs)
    assert tmp_path / "home" / setup_profiles.PROFILES[profile].folder == setup.folder
    assert not setup.folder.exists()


@pytest.mark.parametrize("framework", [*frameworks.FRAMEWORKS][1:])
def test_framework_has_a_profile_of_known_size(framework: str) -> None:
    """Each framework finds its profile by its name, and the profile's download size is known."""
    known = setup_profiles.find_profile(framework)

    assert (framework, frameworks.FRAMEWORKS[framework].profile) == (known.framework, known.name)
    assert {known.wheel, known.tpu_wheel} <= setup_profiles.SIZES.keys()


def test_python_without_wheel_is_named_before_download(tmp_path: Path) -> None:
    """A Python without a wheel is named before the download; uv can install another one."""
    make(tmp_path, "pytorch-xla", tools={})
    tools = tmp_path / "tools"
    for version in ("3.9", "3.14"):
        shutil.copy("/bin/true", tools / f"python{version}")
    (tools / "python3").symlink_to(tools / "python3.14")
    blocked = make(tmp_path, "pytorch-xla").steps[0]
    profile = setup_profiles.PROFILES["pytorch-xla"]
    found = environment_facts.collect_environment_facts(
        profile, tmp_path / "home/x", _MACHINES[tmp_path], own=[]
    )
    fetched = steps.list_steps(
        steps.find_setup_lesson(profile), replace(found, uv=Path("/usr/bin/uv"))
    )[0]

    assert "blocked" == blocked.state
    assert blocked.note.startswith(
        "no Python 3.10, 3.11, 3.12 or 3.13 was found here, and PyTorch/XLA 2.9.0 needs it; "
        "the Python 3.9 and 3.14 here does not fit\n"
    )
    assert ("todo", ("uv", "python", "install", "3.12")) == (
        fetched.state,
        (Path(fetched.command[0]).name, *fetched.command[1:]),
    )
    assert "the Python 3.9 and 3.14 here does not fit" in fetched.note


@pytest.mark.parametrize(
    ("profile", "version", "fits"),
    [
        ("pytorch-xla", "3.10", True),
        ("pytorch-xla", "3.14", False),
        ("torchtpu", "3.10", False),
        ("torchtpu", "3.14", True),
        ("jax", "3.11", False),
        ("jax", "3.14", True),
    ],
)
def test_each_library_accepts_pythons_of_its_wheels(
    profile: str,
    version: str,
    fits: bool,
    tmp_path: Path,
) -> None:
    """Python 3.10 of stock images is enough for PyTorch/XLA alone, which 3.14 is too new for."""
    make(tmp_path, profile, tools={})
    shutil.copy("/bin/true", tmp_path / "tools" / f"python{version}")
    first = make(tmp_path, profile).steps[0]

    assert ("done" if fits else "blocked") == first.state


def test_system_without_wheel_starts_nothing(tmp_path: Path) -> None:
    """A system without a wheel, such as a Mac, is blocked in the plan, and nothing starts."""
    profile = setup_profiles.PROFILES["torchtpu"]
    make(tmp_path, "torchtpu", tools={"uv": True, "python": True})
    found = environment_facts.collect_environment_facts(
        profile, tmp_path / "home/x", _MACHINES[tmp_path], own=[]
    )
    first = steps.list_steps(
        steps.find_setup_lesson(profile), replace(found, system="Darwin arm64")
    )[0]

    assert "blocked" == first.state
    assert "this machine is Darwin arm64, and torch_tpu exists only for Linux x86_64" == first.note


def test_each_environment_is_remembered_beside_the_others(tmp_path: Path) -> None:
    """Environments are remembered by framework, and forgetting one keeps the others."""
    folders = {key: tmp_path / key for key in environments.KEYS}
    for key, folder in folders.items():
        make_python(folder)
        environments.remember_environment(folder, key)
    environments.forget_environment(folders["torch_xla"])

    assert folders[environments.TESTED] == environments.find_proved_environment()
    assert environments.find_proved_environment("torch_xla") is None
    assert folders["torch_tpu"] == environments.find_proved_environment("torch_tpu")
    assert folders[environments.COMPILES] == environments.find_proved_environment(
        environments.COMPILES
    )


def test_requested_framework_selects_its_environment(tmp_path: Path) -> None:
    """The first candidate that has it goes first; `--python` and no wish change nothing."""
    active, jax, xla = (tmp_path / name for name in ("active", "jax", "xla"))
    make_python(active)
    make_python(jax, jax="0.12.0.1")
    make_python(xla, torch_xla="2.9.0")
    environments.remember_environment(jax)
    environments.remember_environment(xla, "torch_xla")
    env = {"VIRTUAL_ENV": str(active), "PATH": ""}

    def chosen(wanted: str | None, explicit: str | None = None) -> Path:
        found, _ = interpreters.choose_interpreter(explicit, env, tmp_path, wanted)
        return found.path.parents[1]

    assert active == chosen(None)
    assert xla == chosen("torch_xla")
    assert jax == chosen("jax")
    assert active == chosen("tensorflow")
    assert active == chosen("torch_xla", str(active))


@pytest.mark.parametrize(
    "request_",
    [
        CheckRequest(framework="torch_xla"),
        CheckRequest(ids=("host.python", "torch_xla.runtime")),
    ],
)
def test_check_of_framework_runs_in_its_environment(request_: CheckRequest, tmp_path: Path) -> None:
    """With `--framework` or an id, a check runs in the environment that set-up remembers."""
    here, xla = tmp_path / "here", tmp_path / "xla"
    make_python(here / ".venv", jax="0.12.0.1")
    make_python(xla, torch_xla="2.9.0")
    environments.remember_environment(xla, "torch_xla")
    (tmp_path / "machine").mkdir()
    machine = lay_out(tmp_path / "machine", env={"PATH": "", "HOME": str(tmp_path)})
    check = MachineCheck(request_, machine=machine, folder=here)

    assert str(xla / "bin/python") == str(check._interpreter.path)


def test_vllm_gets_the_only_python_it_can_have(tmp_path: Path) -> None:
    """The plan for vLLM has the one Python that its pins allow, its release and its sizes."""
    setup = make(tmp_path, "vllm", tools={"uv": True})
    words = [*setup.steps[2].command]

    assert IDS == [step.id for step in setup.steps]
    assert ("3.12",) == setup.profile.versions
    assert ["vllm-tpu==0.32.0"] == words[words.index("--python") + 2 :]
    assert "jax.devices_visible" == setup.steps[3].proof
    assert {setup.profile.wheel, setup.profile.tpu_wheel} <= setup_profiles.SIZES.keys()
    assert f"learn {setup.lesson.id}" == setup.profile.next_command  # checks never run in it
    assert not setup.folder.exists()
