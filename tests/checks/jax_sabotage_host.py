"""One broken function for each check of the host's side of JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import io_callback

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def device_five_drops_a_byte_of_a_page(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Send device 5 an array of 4097 bytes with its last byte lost."""
    honest = module.to_device

    def drop(array: Any) -> Any:
        if array.shape != (1, 4097):
            return array
        return np.concatenate([np.asarray(array)[:, :-1], ~np.asarray(array)[:, -1:]], axis=1)

    def to_device(arrays: Any, device: Any) -> Any:
        return honest(jax.tree.map(drop, arrays) if device.id == 5 else arrays, device)

    patch.setattr(module, "to_device", to_device)


def callbacks_change_places(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Swap neighbouring rows, so that their numbers reach the host in the wrong order."""

    def tell_in_order(x: jax.Array) -> jax.Array:
        calls = module._calls

        def tell(row: Any, last: jax.Array) -> jax.Array:
            return io_callback(calls.hear, last, x[row ^ 1, 0], ordered=True)

        return jax.lax.fori_loop(0, len(x), tell, x[0, 0])

    patch.setattr(module._calls, "tell_in_order", tell_in_order)


def every_run_is_another_program(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Embed a different number in the program each time, as a time of day would be."""
    honest, times = module.program, itertools.count()

    def program() -> Callable[[jax.Array], jax.Array]:
        original, now = honest(), next(times)

        def step(x: jax.Array) -> jax.Array:
            return original(x) + now - now * jax.numpy.ones_like(x)

        return step

    patch.setattr(module, "program", program)


def the_mark_is_not_written(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Omit our mark from the trace."""
    honest = module.record

    def without(events: Iterable[tuple[str, str]] | None) -> list[tuple[str, str]] | None:
        return None if events is None else [event for event in events if event[1] != module.MARK]

    def record(work: Callable[[], None]) -> Any:
        trace = honest(work)
        return trace._replace(events=without(trace.events), planes=without(trace.planes))

    patch.setattr(module, "record", record)


class Library:
    """A fake of libtpu's `sdk.tpumonitoring`, with the texts of each metric."""

    def __init__(self, texts: dict[str, list[str]]) -> None:
        """Store the texts of each metric."""
        self.texts = texts

    def list_supported_metrics(self) -> list[str]:
        """Return the names of the metrics."""
        return list(self.texts)

    def get_metric(self, name: str) -> Metric:
        """Return one metric."""
        return Metric(self.texts[name])


class Metric:
    """A fake of the result of `get_metric`."""

    def __init__(self, texts: list[str]) -> None:
        """Store the texts of the metric."""
        self.texts = texts

    def data(self) -> list[str]:
        """Return the texts."""
        return self.texts


def a_link_cannot_be_used(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let libtpu report the unhealthy example of its documentation."""
    texts = {"ici_link_health": ["tray1.chip3.ici0.int: 0", "tray1.chip3.ici1.int: 10"]}
    patch.setattr(module, "library", lambda: (Library(texts), "libtpu"))


SABOTAGE: dict[str, Break] = {
    "callbacks": callbacks_change_places,
    "compilation_cache": every_run_is_another_program,
    "host_transfers": device_five_drops_a_byte_of_a_page,
    "profiler_trace": the_mark_is_not_written,
    "tpu_metrics": a_link_cannot_be_used,
}
