"""The user's request to the self-check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckRequest:
    """The user's request to the self-check, as given on the command line or in the app."""

    ids: tuple[str, ...] = ()
    level: str = "quick"
    framework: str | None = None
    python: str | None = None
    devices: int | None = None
    this_host: bool = False
    all_hosts: bool = False
    """True if every host of the slice takes part."""
    require: str | None = None
    isolate: bool = False
    minutes: float = 10.0
    """Minutes that a check of the level `soak` runs."""
    fail_on_warn: bool = False
