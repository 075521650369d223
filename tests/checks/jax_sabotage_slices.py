"""Sabotage of the slice checks, which makes each fail on 8 devices of one process."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def says(subject: str, text: str) -> Break:
    """Return a sabotage in which a second host's answer differs on one subject only."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        def exchange(about: str, own: str) -> list[str]:
            return [own, text] if about == subject else [own, own]

        patch.setattr(module._hosts, "exchange", exchange)

    return breaks


def three_adds_nothing(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the device at place 3 contribute nothing to the sum."""
    honest = module.total
    patch.setattr(module, "total", lambda x: honest(jnp.where(jax.lax.axis_index("d") == 3, 0, x)))


def rows_go_two_on(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Send the rows past the next device."""
    patch.setattr(
        module._ring,
        "from_before",
        lambda x, count: jax.lax.ppermute(x, "d", [(i, (i + 2) % count) for i in range(count)]),
    )


def nothing_is_passed_on(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let every device keep its own block."""
    patch.setattr(module._axes, "passed_on", lambda x, *_: x)


def rows_of_another_host(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let this host read its rows in another order."""
    honest = module.local_rows
    patch.setattr(module, "local_rows", lambda *given: np.roll(honest(*given), 1, axis=0))


def one_number_is_lost(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Restore zeros."""
    honest = module.saved_and_restored
    patch.setattr(module, "saved_and_restored", lambda *given: 0 * honest(*given))


def a_batch_is_missing(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let this host read a batch less than planned."""
    patch.setattr(module, "batches", lambda numbers, count: list(numbers[: count - 1]))


def nothing_is_swapped(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the devices at both ends of a link keep their own arrays."""
    patch.setattr(module._slice_links, "swap", lambda x, _: x)


SABOTAGE: dict[str, Break] = {
    "slice_arrays": rows_of_another_host,
    "slice_axes": nothing_is_passed_on,
    "slice_checkpoint": one_number_is_lost,
    "slice_collectives": three_adds_nothing,
    "slice_dcn": nothing_is_passed_on,
    "slice_devices": says("devices", '{"own": [], "all": []}'),
    "slice_input": a_batch_is_missing,
    "slice_keys": says("keys", "[1, 2]"),
    "slice_order": rows_go_two_on,
    "slice_program": says("hash", "0123456789ab"),
    "slice_rate": nothing_is_swapped,
}


def fake(**fields: Any) -> Any:
    """Return a simulated device of a slice."""
    return type("Device", (), {"device_kind": "TPU v5 lite", "core_on_chip": 0, **fields})()
