"""What the checks are asked about, where a test does not say otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tpustarter.probe.target import Target, set_target, target


@pytest.fixture(autouse=True)
def _asked() -> Iterator[None]:
    """Ask about 8 virtual CPU devices, and ask what was asked before at the end."""
    before = target()
    set_target(Target("cpu", 8, virtual=True))
    yield
    set_target(before)
