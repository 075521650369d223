"""What tests of the screens of TPUs share: a project on this machine, and Google on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud_app import configure
from tests.support.fake_cloud import FakeCloud, serving


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Configure a project and a zone, and nothing else of this machine's."""
    configure(monkeypatch, home)


@pytest.fixture
def cloud(project: None) -> Iterator[FakeCloud]:
    """Serve an empty project on loopback."""
    with serving() as served:
        yield served
