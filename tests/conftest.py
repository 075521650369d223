"""What every test shares: a home of its own, 8 virtual CPU devices, importable checks."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.update(JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="8")
# Texts name the command that works where they are read; here they are compared.
os.environ["TPUSTARTER_COMMAND"] = "tpustarter"
# Hundreds of processes are started here: what they import is compiled once, not in each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import tpustarter
from tpustarter.running import run_folder

sys.dont_write_bytecode = False
# Ignored where the shell began this with `nohup ... &`, and then by all that is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)
pytest.register_assert_rewrite("tests.support")  # its asserts tell values too


# How long an example takes says how busy the machine is; whoever bounds it says so at the test.
_ANY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("any-machine", **_ANY_MACHINE)
settings.load_profile("any-machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--golden`, which writes golden texts anew."""
    parser.addoption("--golden", action="store_true", help="write golden texts anew")


def pytest_collection_finish() -> None:
    """Leave what was imported out of garbage collection: a third of the time of the app's tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


REPOSITORY = Path(__file__).parents[1]

if (REPOSITORY / "checks").is_dir() and Path(tpustarter.__file__).parents[1] == REPOSITORY:
    tpustarter.__path__.append(str(REPOSITORY))  # in a wheel, checks/ lies inside the package


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give each test a home and a state folder of its own; its run folders are let go of."""
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("XDG_", "TPU_", "TPUSTARTER_HOME", "CONDA_", "VIRTUAL_ENV")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TPUSTARTER_HOME", str(folder / "state"))
    yield folder
    for run in list(run_folder._marks):
        run_folder.remove(run)


@pytest.fixture(autouse=True, scope="session")
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what JAX compiles in this process, where a test imported JAX: most is met again."""
    if jax := sys.modules.get("jax"):
        jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
