"""Fixtures of the project and the cloud for the app's other tests."""

from __future__ import annotations

from tests.tui.conftest import cloud, project

__all__ = ["cloud", "project"]
