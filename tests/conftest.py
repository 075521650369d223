"""What every test shares: a home of its own, 8 virtual CPU devices, importable checks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.update(JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="8")

import tpustarter


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--golden`, which writes golden texts anew."""
    parser.addoption("--golden", action="store_true", help="write golden texts anew")


REPOSITORY = Path(__file__).parents[1]

if (REPOSITORY / "checks").is_dir() and Path(tpustarter.__file__).parents[1] == REPOSITORY:
    tpustarter.__path__.append(str(REPOSITORY))  # in a wheel, checks/ lies inside the package


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a home and a state folder of its own."""
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("XDG_", "TPU_", "TPUSTARTER_HOME", "CONDA_", "VIRTUAL_ENV")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TPUSTARTER_HOME", str(folder / "state"))
    return folder
