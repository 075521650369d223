"""Fixtures of tests of screens: a project with Google on loopback, and a compiler stub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud_app import configure
from tests.support.fake_cloud import FakeCloud, serving
from tests.support.stub_compiler import make_compiler
from tpustarter.text import invocation
from tpustarter.tui.kit import text_layout
from tpustarter.tui.lesson.page import lesson_commands


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a stub of an environment with JAX and libtpu."""
    folder = tmp_path_factory.mktemp("compiler")
    make_compiler(folder)
    return folder


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Configure a project and a zone, and no other setting of this machine."""
    configure(monkeypatch, home)


@pytest.fixture
def cloud(project: None) -> Iterator[FakeCloud]:
    """Serve an empty project on loopback."""
    with serving() as served:
        yield served


@pytest.fixture
def long_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launch the program by a long command."""
    for module in (invocation, lesson_commands, text_layout):
        monkeypatch.setattr(module, "tpustarter_command", lambda: "python3 -m uv run tpustarter")
