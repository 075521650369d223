"""The key line at the bottom of every screen: as many of the active keys as fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from textual.app import App
from textual.binding import ActiveBinding
from textual.content import Content
from textual.events import Click
from textual.signal import Signal
from textual.style import Style
from textual.widgets import Static

from tpustarter.tui.app.session import find_session
from tpustarter.tui.kit.row_list import get_app
from tpustarter.tui.kit.text_layout import KeyLine
from tpustarter.tui.terminal.app_internals import AnyScreen

MAX_KEYS = 5
"""Number of keys that are shown unless the screen is wide; `?` lists all keys."""
PRESSES = "presses"
"""The key of a style's metadata that holds the keyboard key that a click presses."""


class _Key(NamedTuple):
    """A key as shown on the key line."""

    shown: str
    label: str
    key: str

    @property
    def painted(self) -> Content:
        """The key and its label; a click presses the key, unless it represents several keys."""
        text = Content.assemble((self.shown, "bold $key"), f" {self.label}")
        is_one = "..." not in self.shown
        return text.stylize(Style.from_meta({PRESSES: self.key})) if is_one else text


class KeyBar(Static):
    """A screen's last line, with the active keys."""

    def on_mount(self) -> None:
        self._displayed: list[_Key] = []
        self._status = ""
        bindings_updated: Signal[AnyScreen] = self.screen.bindings_updated_signal  # pyright: ignore
        bindings_updated.subscribe(self, self._show)
        self.call_after_refresh(self._show, self.screen)

    def _show(self, screen: AnyScreen) -> None:
        if not self.is_attached or screen is not self.screen or not screen.display:
            return  # one that is being removed is not displayed, and may lack its widgets
        bindings = screen.active_bindings  # read once: each read calls `check_action` for every key
        valid, back = list_active_keys(screen, bindings), bindings.get("escape")
        keys = [
            _Key(_shown(screen, active, back), active.binding.description, active.binding.key)
            for active in valid
        ]
        if keys != self._displayed:
            was_empty, self._displayed = not self._displayed, keys
            ranked = sorted(range(len(valid)), key=lambda number: _weight(valid, number))
            few = MAX_KEYS + 2 * (not _has_escape(valid))  # the search and the palette as well
            ends = [n for n, active in enumerate(valid) if _action(active) == "release"]
            if ends:  # without an accelerator, the key that ends the process is left out first
                if not find_session(self).live.owns_accelerator:
                    others = [number for number in ranked if number not in ends]
                    ranked = [*others[:few], *ends, *others[few:]]
                few += 1
            self._line = partial(KeyLine, [key.painted for key in keys], ranked, few)
            # It is one line high, whatever the keys.
            self.update(self._line(status=self._status), layout=was_empty)

    def on_click(self, event: Click) -> None:
        if key := event.style.meta.get(PRESSES):
            get_app(self).simulate_key(key)

    def show_status(self, text: str) -> None:
        """Show a status at the right, such as the position in a list, if the keys leave room."""
        if text != self._status:
            self._status = text
            if self._displayed:
                self.update(self._line(status=text), layout=False)


def _shown(screen: AnyScreen, active: ActiveBinding, way_back: ActiveBinding | None) -> str:
    """Return a key's name, preceded by `Esc` if Esc does the same."""
    shown, binding = get_app(screen).get_key_display(active.binding), active.binding
    is_same = way_back and way_back.enabled and way_back.binding.action == binding.action
    return f"Esc, {shown}" if is_same and binding.key != "escape" else shown


def _weight(valid: Sequence[ActiveBinding], number: int) -> tuple[int, int]:
    """Return the sort key of a key's importance; keys that end something come first."""
    action = _action(valid[number])
    has_way_back = _has_escape(valid)
    if action in ("stop", "release", "setup_first"):
        return 0, number
    if valid[number].binding.key in ("enter", "escape") or action in ("help", "setup"):
        return 1, number
    if action.startswith("leave("):
        return (3 if has_way_back else 1), number
    if action.partition("(")[0] in ("move", "other"):  # the keys that move between fields and lists
        return 2, 0
    if action in ("search", "command_palette"):
        return (3, number) if has_way_back else (2, -1)
    return 2, number


def _has_escape(valid: Sequence[ActiveBinding]) -> bool:
    """Return whether Esc is bound, as it is on every screen except the first."""
    return any(active.binding.key == "escape" for active in valid)


def _action(active: ActiveBinding) -> str:
    return active.binding.action.rpartition(".")[2]


def list_active_keys(
    screen: AnyScreen, bindings: dict[str, ActiveBinding] | None = None, *, rare: bool = False
) -> list[ActiveBinding]:
    """Return the bindings to show: the enabled ones, with one key per action.

    Args:
        screen: The active screen.
        bindings: The screen's active bindings, if the caller has read them already.
        rare: Include keys that only the help and the palette show.
    """
    focused = screen.focused
    by_action: dict[str, ActiveBinding] = {}
    for active in (bindings or screen.active_bindings).values():
        binding = active.binding
        is_shown = binding.show or (rare and binding.tooltip)
        if not (is_shown and active.enabled and binding.description):
            continue
        character = _CHARACTERS.get(binding.key, binding.key)
        typed = len(character) == 1 and not binding.priority
        if typed and focused and focused.check_consume_key(binding.key, character):
            continue
        by_action.setdefault(binding.action, active)
    # The screen's keys come first, then its late ones, Esc and Tab, and finally the app's keys.
    late = getattr(screen, "late", ())

    def place(active: ActiveBinding) -> tuple[bool, bool, bool]:
        binding = active.binding
        is_escape = binding.key in ("escape", "tab")
        return isinstance(active.node, App), is_escape, binding.action in late

    return sorted(by_action.values(), key=place)


_CHARACTERS = {"question_mark": "?", "slash": "/", "colon": ":", "comma": ",", "space": " "}
