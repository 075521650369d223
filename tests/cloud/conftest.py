"""Fixtures that the cloud tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gcloud_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of the real gcloud, which starts once for all commands in it."""
    return tmp_path_factory.mktemp("gcloud")
