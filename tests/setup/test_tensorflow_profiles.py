"""Set-up of TensorFlow and of Keras on JAX: packages, folders and proofs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.test_run import IDS, make, run
from tests.support.stubs import make_python
from tpustarter.checking.plan import environments, interpreters
from tpustarter.setup.environment import made_environment as folders
from tpustarter.setup.environment import setup_profiles

LINUX = setup_profiles.PROFILES["tensorflow"].system
CHIPS = {"generation": "v6e", "chips": 8}
PINNED = ["tensorflow-tpu==2.20.0", "libtpu==0.0.31"]
"""What works together: with a newer libtpu, `import tensorflow` ends the process."""

on_linux = pytest.mark.skipif(
    " ".join((os.uname().sysname, os.uname().machine)) != LINUX,
    reason=f"The wheels of tensorflow-tpu are for {LINUX} alone, and set-up refuses elsewhere.",
)


@pytest.mark.parametrize(
    ("profile", "machine", "wheels", "proof"),
    [
        pytest.param(
            "tensorflow",
            {},
            ["tensorflow-cpu==2.20.0"],
            "tensorflow.devices_visible",
            marks=on_linux,
        ),
        pytest.param("tensorflow", CHIPS, PINNED, "tensorflow.devices_visible", marks=on_linux),
        ("keras", {}, ["keras", "jax"], "keras.backend"),
        ("keras", CHIPS, ["keras", "jax[tpu]"], "keras.backend"),
    ],
)
def test_plan_installs_matching_packages(
    profile: str, machine: dict[str, object], wheels: list[str], proof: str, tmp_path: Path
) -> None:
    """The plan installs the matching packages, with and without uv."""
    setup = make(tmp_path, profile, tools={"uv": True, "python": True}, **machine)
    _, _, install, *written, prove, _ = setup.steps
    words = list(install.command)

    assert IDS == [step.id for step in setup.steps if step not in written]
    assert ["backend"] * (profile == "keras") == [step.id for step in written]
    assert wheels == words[words.index("--python") + 2 :]
    assert f"Install {' and '.join(wheels)} into it" == install.title
    assert proof == prove.proof
    assert any(need.startswith("a download of") for need in install.needs)
    assert not setup.folder.exists()


def test_tpu_without_tensorflow_downloads_nothing(tmp_path: Path) -> None:
    """A TPU without TensorFlow's package downloads nothing and names the alternative."""
    tools = {"uv": True, "python": True}
    [python, *rest] = make(tmp_path, "tensorflow", tools=tools, generation="tpu7x", chips=4).steps
    [keras, *_] = make(tmp_path, "keras").steps

    assert "blocked" == python.state
    assert "TensorFlow 2.20.0 does not run on TPU7x" in python.note
    assert "tpustarter setup keras" in python.note
    assert {"blocked", "todo"} >= {step.state for step in rest}
    assert "done" == keras.state


def test_programs_of_the_environment_of_keras_take_jax(tmp_path: Path) -> None:
    """Programs of Keras's environment use JAX, unless KERAS_BACKEND says otherwise."""
    setup = make(tmp_path, "keras", tools={"python": True})
    planned = setup.steps[IDS.index("install") + 1]
    run(setup)
    written = setup.steps[IDS.index("install") + 1]

    assert ("todo", "done") == (planned.state, written.state)
    file = Path(written.file)
    assert file == next(setup.folder.glob("lib/python3*/site-packages")) / file.name
    assert file.read_text().splitlines() == list(planned.writes)

    starts = f"import os, site; site.addsitedir({str(file.parent)!r})"
    program = f"{starts}; print(os.environ['KERAS_BACKEND'])"
    for env, backend in (({}, "jax"), ({"KERAS_BACKEND": "torch"}, "torch")):
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
        assert backend == done.stdout.strip()

    file.unlink()
    again = make(tmp_path, "keras").steps
    assert "todo" == next(step.state for step in again if step.file)
    assert [] == folders.list_unknown_files(setup.folder)


def test_keras_on_jax_is_found_where_requested(tmp_path: Path) -> None:
    """Though others come first: one has no Keras, the other Keras without JAX."""
    jax, tensorflow, keras = (tmp_path / name for name in ("jax", "tensorflow", "keras"))
    for folder, version in ((jax, "0.12.0.1"), (tensorflow, None), (keras, "0.12.0.1")):
        make_python(folder, jax=version)
    for folder in (tensorflow, keras):
        (next(folder.glob("lib/*/site-packages")) / "keras-3.15.1.dist-info").mkdir()
    environments.remember_environment(jax)
    environments.remember_environment(tensorflow, "tensorflow")
    environments.remember_environment(keras, "keras")
    env = {"PATH": ""}

    assert jax == interpreters.choose_interpreter(None, env, tmp_path, None)[0].path.parents[1]
    assert keras == interpreters.choose_interpreter(None, env, tmp_path, "keras")[0].path.parents[1]
