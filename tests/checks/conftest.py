"""The target of the checks, unless a test sets another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tpustarter.probe.target import Target, set_target, target


@pytest.fixture(autouse=True)
def eight_cpu_devices() -> Iterator[None]:
    """Set the target to 8 virtual CPU devices, and restore the previous one."""
    before = target()
    set_target(Target("cpu", 8, virtual=True))
    yield
    set_target(before)
