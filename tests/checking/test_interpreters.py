"""Which Python is tested: the order of candidates, and what may go wrong with each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.stubs import make_python
from tpustarter.checking.plan import environments, interpreters
from tpustarter.core import state
from tpustarter.core.problem import ExitCode, Problem

OWN = "the Python tpustarter runs in"


def choose(folder: Path, explicit: str | None = None, **env: str) -> interpreters.Interpreter:
    """Return the Python chosen in an empty folder with this environment."""
    return interpreters.choose_interpreter(explicit, {"PATH": "/nowhere", **env}, folder)[0]


def has_framework() -> bool:
    """Return whether the Python that runs the tests has a framework."""
    return bool(interpreters.read_framework_versions(Path(sys.prefix)))


def test_the_order_of_candidates(tmp_path: Path) -> None:
    """`--python` beats an active environment, which beats ./.venv, which beats our own."""
    for name in ("explicit", "active", "conda", "here/.venv"):
        make_python(tmp_path / name)
    here, active, conda = tmp_path / "here", str(tmp_path / "active"), str(tmp_path / "conda")
    explicit = str(tmp_path / "explicit")

    assert choose(here, explicit, VIRTUAL_ENV=active).why == "--python"
    assert choose(here, VIRTUAL_ENV=active, CONDA_PREFIX=conda).path.parents[1] == Path(active)
    assert choose(here, CONDA_PREFIX=conda).path.parents[1] == Path(conda)
    assert choose(here).why == "./.venv"
    if has_framework():
        assert choose(tmp_path).why == OWN


def test_uvx_hides_no_python_of_the_user(tmp_path: Path) -> None:
    """The environment that uvx puts first on PATH doesn't hide the user's Python."""
    users, own = make_python(tmp_path / "users", jax="0.12.0.1"), f"{sys.prefix}/bin"
    env = {"UV": "/bin/uv", "VIRTUAL_ENV": "", "PATH": f"{own}:{users.parent}"}
    chosen, others = interpreters.choose_interpreter(None, env, tmp_path)

    assert users.parent / "python3" in {chosen.path, *(one.path for one in others)}


def test_environment_for_one_framework_serves_only_that(tmp_path: Path) -> None:
    """An environment set up for TensorFlow is used only when TensorFlow is requested."""
    tensorflow, jax = tmp_path / "tpu-tensorflow", tmp_path / "tpu"
    make_python(tensorflow, tensorflow="2.20.0")
    make_python(jax, jax="0.12.0.1")
    environments.remember_environment(tensorflow, "tensorflow")
    wanted, _ = interpreters.choose_interpreter(None, {"PATH": ""}, tmp_path, wanted="tensorflow")

    assert tensorflow == wanted.path.parents[1]
    if has_framework():
        assert choose(tmp_path).why == OWN
    environments.remember_environment(jax)
    assert jax == choose(tmp_path).path.parents[1]


def test_chosen_python_is_preferred_as_compiler(tmp_path: Path) -> None:
    """The environment made for compiling comes first, then the chosen Python with libtpu."""
    chosen, other = tmp_path / "chosen", tmp_path / "here" / ".venv"
    make_python(chosen, jax="0.12.0.1", libtpu="0.0.50.1")
    make_python(other, jax="0.12.0.1", libtpu="0.0.50.1")

    def compilers() -> list[Path]:
        found = interpreters.find_pythons_with_libtpu({"PATH": ""}, tmp_path / "here")
        return [one.path.parents[1] for one in found][:2]

    assert other == compilers()[0]
    state.save_state("settings", {"python": str(chosen / "bin" / "python")})
    assert [chosen, other] == compilers()
    make_python(tmp_path / "made", jax="0.12.0.1", libtpu="0.0.50.1")
    environments.remember_environment(tmp_path / "made", environments.COMPILES)
    assert [tmp_path / "made", chosen] == compilers()
    state.save_state("settings", {"python": sys.executable})
    assert chosen not in compilers()


def test_environment_of_tpustarter_is_not_that_of_user(tmp_path: Path) -> None:
    """With `uv run`, VIRTUAL_ENV is our environment and isn't taken for the user's."""
    make_python(tmp_path / ".venv")

    assert choose(tmp_path, VIRTUAL_ENV=sys.prefix).why == "./.venv"


def test_active_environment_without_framework_is_still_tested(tmp_path: Path) -> None:
    """An active environment without a framework is tested, and others with one are named."""
    bare, full = tmp_path / "bare", tmp_path / "full"
    make_python(bare)
    make_python(full / ".venv", jax="0.12.0.1")
    chosen, others = interpreters.choose_interpreter(
        None, {"VIRTUAL_ENV": str(bare), "PATH": ""}, full
    )

    assert (chosen.path.parents[1], chosen.frameworks) == (bare, {})
    assert others[0].frameworks == {"jax": "0.12.0.1"}


def test_folder_program_and_name_all_select_python(tmp_path: Path) -> None:
    """`--python` takes an environment's folder, its program, or a name on PATH."""
    program = make_python(tmp_path / "env", jax="0.12.0.1")

    assert choose(tmp_path, str(tmp_path / "env")).path == program
    assert choose(tmp_path, str(program)).frameworks == {"jax": "0.12.0.1"}
    assert choose(tmp_path, "python3").path.name == "python3"


def test_python3_on_path_is_the_last_resort(tmp_path: Path) -> None:
    """`python3` on PATH is used only if there is no other Python."""
    program = make_python(tmp_path / "env")
    chosen, _ = interpreters.choose_interpreter(None, {"PATH": str(program.parent)}, tmp_path)
    wanted = OWN if has_framework() else "python3 on PATH"

    assert wanted == chosen.why


def test_environment_is_listed_once_for_all_paths(tmp_path: Path) -> None:
    """An active environment whose `python3` is first on PATH is one candidate, not two."""
    program = make_python(tmp_path / "env", jax="0.12.0.1")
    env = {"VIRTUAL_ENV": str(tmp_path / "env"), "PATH": str(program.parent)}
    _, others = interpreters.choose_interpreter(None, env, tmp_path)

    assert not [one for one in others if one.path.is_relative_to(tmp_path / "env")]


@pytest.mark.parametrize("text", ["/nope", "no-such-program", "."])
def test_invalid_python_is_usage_error(text: str, tmp_path: Path) -> None:
    """A path that is no Python is a usage error with advice."""
    with pytest.raises(Problem, match="is not a Python") as caught:
        choose(tmp_path, text)

    assert caught.value.code == ExitCode.USAGE


def test_a_gpu_plugin_is_seen_without_starting_anything(tmp_path: Path) -> None:
    """JAX's NVIDIA plug-in shows in the package folder."""
    with_plugin = make_python(tmp_path / "gpu", jax="0.12.0.1", gpu=True)
    without = make_python(tmp_path / "cpu", jax="0.12.0.1")

    assert choose(tmp_path, str(with_plugin)).has_gpu_plugin
    assert not choose(tmp_path, str(without)).has_gpu_plugin


def test_paths_are_shown_as_they_would_be_typed() -> None:
    """A path is shown relative to this folder, with `~` for home, or in full."""
    env = {"HOME": "/home/alice"}

    assert ".venv/bin/python" == interpreters.format_path(
        Path("/w/.venv/bin/python"), env, Path("/w")
    )
    assert "~/tpu/bin/python" == interpreters.format_path(
        Path("/home/alice/tpu/bin/python"), env, Path("/w")
    )
    assert "/usr/bin/python3" == interpreters.format_path(Path("/usr/bin/python3"), env, Path("/w"))


def test_saved_choice_that_is_no_path_is_ignored(tmp_path: Path) -> None:
    """A stored path with a zero byte is ignored."""
    state.save_state("settings", {"python": "/a\0b"})
    make_python(tmp_path / ".venv")

    assert "./.venv" == choose(tmp_path).why


def test_missing_packages_have_their_install_names(tmp_path: Path) -> None:
    """The metadata's folder has an underline where the name has a hyphen."""
    make_python(tmp_path)
    [packages] = tmp_path.glob("lib/python3*/site-packages")
    (packages / "orbax_checkpoint-0.12.8.dist-info").mkdir()
    (packages / "flax_extras-1.0.dist-info").mkdir()

    assert ["flax"] == interpreters.list_missing_packages(["flax", "orbax-checkpoint"], tmp_path)
    assert [] == interpreters.list_missing_packages([], tmp_path)


@pytest.mark.parametrize("build", ["tensorflow", "tensorflow_cpu", "tensorflow_tpu"])
def test_every_build_of_tensorflow_is_tensorflow(build: str, tmp_path: Path) -> None:
    """Each of the three builds of TensorFlow is recognised, and so is its Keras."""
    packages = tmp_path / "lib/python3.12/site-packages"
    for name in (f"{build}-2.20.0.dist-info", "keras-3.15.1.dist-info"):
        (packages / name).mkdir(parents=True)

    assert {"tensorflow": "2.20.0", "keras": "3.15.1"} == interpreters.read_framework_versions(
        tmp_path
    )


PYTHONS = {
    "environment": ({"pyvenv.cfg": "version = 3.12.1\n", "bin/python": ""}, "3.12.1"),
    "made-by-uv": ({"pyvenv.cfg": "version_info = 3.11.7\n", "bin/python": ""}, "3.11.7"),
    "by-name": ({"bin/python3.11": ""}, "3.11"),
    "by-library": ({"bin/python": "", "lib/python3.13/os.py": ""}, "3.13"),
    "two-libraries": (
        {"bin/python": "", "lib/python3.13/os.py": "", "lib/python3.9/os.py": ""},
        None,
    ),
    "shim": ({"bin/python3": "#!/usr/bin/env bash\nexec pyenv exec python3\n"}, None),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("name", PYTHONS)
def test_version_is_whole_or_unknown(name: str, tmp_path: Path) -> None:
    """A version is read whole or not at all, never as just `3`."""
    files, expected = PYTHONS[name]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    program = next((file for file in files if file.startswith("bin/")), "bin/python")

    assert expected == interpreters.read_python_version(tmp_path / program)


def test_version_of_python_in_root_folder_is_unknown() -> None:
    """A program in the root folder of a container has no environment around it."""
    assert interpreters.read_python_version(Path("/python-of-a-container")) is None
