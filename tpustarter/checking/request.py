"""What the user asked the self-check for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    ids: tuple[str, ...] = ()
    level: str = "quick"
    framework: str | None = None
    python: str | None = None
    devices: int | None = None
    this_host: bool = False
    require: str | None = None
    isolate: bool = False
    minutes: float = 10.0
    """How long checks of the level `soak` go on."""
    fail_on_warn: bool = False
