"""The user's settings of the app, saved between runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tpustarter.core import state

NAME = "settings"


@dataclass(frozen=True)
class Settings:
    """The settings; `tpustarter check` follows `python` too."""

    python: str | None = None
    """The Python under test; None for the first that is found."""
    devices: int | None = None
    """Virtual CPU devices to use, even beside a TPU; None for what the machine has."""
    plain: bool = False
    """True if the app shows no colours."""
    path: str | None = None
    """The path shown on the home screen; None for the one that suits the machine."""
    theme: str | None = None
    """The colours, a name of `theme.CHOICES`; None for those that suit the terminal."""
    mouse: bool = True
    """True if the app gets the mouse's clicks; otherwise the terminal selects text with it."""


def read_settings() -> Settings:
    """Return the saved settings; a value of the wrong kind counts as none."""
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
    """Save the settings; raise Problem on a full disk."""
    state.save_state(NAME, {**state.load_state(NAME), **asdict(settings)})
