"""Fixtures of the other tests of the app."""

from __future__ import annotations

from tests.tui.conftest import cloud, long_command, project, stub

__all__ = ["cloud", "long_command", "project", "stub"]
