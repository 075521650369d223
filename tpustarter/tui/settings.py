"""What the learner chose in the app, remembered between runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tpustarter import state

NAME = "settings"


@dataclass(frozen=True)
class Settings:
    """Choices; `tpustarter check` follows the first one too."""

    python: str | None = None
    """The Python under test; None for the order in which one is looked for."""
    devices: int | None = None
    """Virtual CPU devices asked for, even beside a TPU; None for what the machine has."""
    plain: bool = False
    """No colours."""
    path: str | None = None
    """The path shown at home."""
    theme: str | None = None
    """The colours, a name of `theme.CHOICES`; None for those that suit the terminal."""
    mouse: bool = True
    """Whether the app gets the mouse's clicks; otherwise the terminal selects text with it."""


def read() -> Settings:
    """Return what was chosen; a value of the wrong kind counts as none."""
    saved = state.load(NAME)
    python, devices = saved.get("python"), saved.get("devices")
    path, theme = saved.get("path"), saved.get("theme")
    return Settings(
        python if isinstance(python, str) else None,
        devices if type(devices) is int and 1 <= devices <= 256 else None,
        saved.get("plain") is True,
        path if isinstance(path, str) else None,
        theme if isinstance(theme, str) else None,
        saved.get("mouse") is not False,
    )


def save(settings: Settings) -> None:
    """Remember what was chosen; raises Problem on a full disk."""
    stored: dict[str, Any] = state.load(NAME)
    state.save(NAME, {**stored, **asdict(settings)})
