"""The command palette: every action, and the plain command that does the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.app import SystemCommand
from textual.screen import Screen

from tpustarter.invocation import as_typed
from tpustarter.tui.tutor import Tutor
from tpustarter.tui.widgets import valid_keys


def available_commands(app: Tutor, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Yield what works on this screen, then what works anywhere."""
    listed: set[str] = set()
    for active in valid_keys(screen, rare=True):
        binding = active.binding
        if binding.action == "command_palette":
            continue
        listed.add(binding.tooltip)
        title = f"{binding.description[:1].upper()}{binding.description[1:]}"
        run = partial(app.run_action, binding.action, active.node)
        title = f"{title} ({app.get_key_display(binding)})"
        yield SystemCommand(title, as_typed(binding.tooltip), run)
    for title, command, run in _anywhere(app):
        if command not in listed:
            yield SystemCommand(title, as_typed(command), run)


def _anywhere(app: Tutor) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Yield what works on every screen: title, plain command, action."""
    from tpustarter.checking.selfcheck import Request

    go = app.go
    yield "Check this machine", "tpustarter check", go.to_checks
    for level, title in (
        ("static", "Check this machine without loading a framework, even while a job runs"),
        ("full", "Check this machine in full, and measure its speed"),
        ("soak", "Check this machine with ten minutes of repeated work"),
    ):
        request = Request(level=level, devices=app.choices.devices)
        command = f"tpustarter check --level {level}"
        yield title, command, partial(go.to_checks, request)
    yield "All lessons", "tpustarter learn", go.to_lessons
    yield "Rehearse: compile for a TPU that you don't have", "tpustarter rehearse", go.to_rehearsal
    yield "TPUs in Google Cloud: list, create and delete them", "tpustarter tpu list", go.to_tpus
    yield "Set up an environment", "tpustarter setup jax", go.to_setup
    setup = partial(go.to_setup, "rehearse")
    yield "Set up the TPU compiler, which a rehearsal needs", "tpustarter setup rehearse", setup
    command = "tpustarter check --python PATH --devices N"
    yield "Settings", command, go.to_settings
