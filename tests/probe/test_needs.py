"""The needs of a check are compared with what this run has."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tpustarter.probe import needs


@pytest.mark.parametrize(
    ("jax", "reason"),
    [
        (None, "this run has one host, and 3 are needed"),
        (1, "this run has one host, and 3 are needed"),
        (2, "this run has only 2 hosts, and 3 are needed"),
        (3, None),
    ],
)
def test_hosts_are_the_processes_that_jax_joined(
    jax: int | None, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where JAX was not imported there is one host, and it is not imported to ask."""
    joined = SimpleNamespace(is_initialized=lambda: bool(jax))
    module: Any = jax and SimpleNamespace(process_count=lambda: jax, distributed=joined)
    monkeypatch.setitem(sys.modules, "jax", module)

    assert reason == needs.find_unmet("host", {"hosts": 3})
