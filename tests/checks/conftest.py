"""The target of the checks, where a test sets no other one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tpustarter.probe.target import Target, set_target, target


@pytest.fixture(autouse=True)
def eight_cpu_devices() -> Iterator[None]:
    """Ask about 8 virtual CPU devices, and ask what was asked before at the end."""
    before = target()
    set_target(Target("cpu", 8, virtual=True))
    yield
    set_target(before)
