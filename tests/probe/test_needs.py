"""The needs of a check are compared with what this run has."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tpustarter.probe import check_needs


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
    """The number of hosts is JAX's process count; if JAX wasn't imported, it's one host."""
    joined = SimpleNamespace(is_initialized=lambda: bool(jax))
    module: Any = jax and SimpleNamespace(process_count=lambda: jax, distributed=joined)
    monkeypatch.setitem(sys.modules, "jax", module)

    assert reason == check_needs.find_unmet_need("host", {"hosts": 3})


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ([0, 0], "this run has one slice, and 2 are needed"),
        ([None, None], "this run has one slice, and 2 are needed"),
        ([0, 1], None),
    ],
)
def test_slices_are_those_that_devices_name(
    indices: list[int | None], reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices that name no slice are in one."""
    devices = [
        SimpleNamespace() if index is None else SimpleNamespace(slice_index=index)
        for index in indices
    ]
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(devices=lambda: devices))

    assert reason == check_needs.find_unmet_need("host", {"slices": 2})


@pytest.mark.parametrize(
    ("packages", "reason"),
    [
        (["json"], None),
        (["json", "no_such"], "this Python has no no_such"),
        (["no_such.part", "nor_this"], "this Python has no no_such.part and no nor_this"),
    ],
)
def test_missing_packages_are_named(packages: list[str], reason: str | None) -> None:
    """A package is looked for, and not imported."""
    assert reason == check_needs.find_unmet_need("host", {"packages": packages})
