"""The user's settings, saved between runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tpustarter.core import state

NAME = "settings"


@dataclass(frozen=True)
class Settings:
    """The settings; `tpustarter check` uses `python`, too."""

    python: str | None = None
    """The Python under test; None for the first one found."""
    devices: int | None = None
    """Number of virtual CPU devices to use, even on a TPU machine; None to choose by machine."""
    plain: bool = False
    """True if the app shows no colours."""
    path: str | None = None
    """The learning path on the home screen; None for the one that suits the machine."""
    theme: str | None = None
    """A key of `theme.CHOICES`; None for the theme that suits the terminal."""
    mouse: bool = True
    """True if the app receives mouse clicks; otherwise the terminal uses them to select text."""


def read_settings() -> Settings:
    """Return the saved settings, ignoring invalid values."""
    saved = state.load_state(NAME)
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


def save_settings(settings: Settings) -> None:
    """Save the settings.

    Raises:
        Problem: The disk is full.
    """
    state.save_state(NAME, {**state.load_state(NAME), **asdict(settings)})
