"""The target of the checks, as in their other tests."""

from __future__ import annotations

from tests.checks.conftest import eight_cpu_devices

__all__ = ["eight_cpu_devices"]
