"""The last line of every screen: the keys that work there now, as many as it has room for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.app import App
from textual.binding import ActiveBinding
from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.signal import Signal
from textual.style import Style
from textual.widgets import Static

from tpustarter.tui.lines import KeyLine
from tpustarter.tui.widgets import get_app

if TYPE_CHECKING:
    from tpustarter.tui.tutor import Tutor

FEW = 5
"""Keys that are shown on less than a wide screen; `?` lists all."""
PRESSES = "presses"
"""What a click on a part of the key line means, in the meta data of its style."""


class _Key(NamedTuple):
    """A key as the key line names it."""

    shown: str
    label: str
    key: str

    @property
    def painted(self) -> Content:
        """The key and what it does; a click presses it, unless it stands for several."""
        text = Content.assemble((self.shown, "bold $key"), f" {self.label}")
        is_one = "..." not in self.shown
        return text.stylize(Style.from_meta({PRESSES: self.key})) if is_one else text


class Keys(Static):
    """The last line: the keys that work now, as many of them as it has room for."""

    def on_mount(self) -> None:
        """Follow the bindings of the screen."""
        self._displayed: list[_Key] = []
        self._status = ""
        bindings_updated: Signal[Any] = self.screen.bindings_updated_signal  # pyright: ignore
        bindings_updated.subscribe(self, self._show)
        self.call_after_refresh(self._show, self.screen)

    def _show(self, screen: Screen[Any]) -> None:
        if not self.is_attached or screen is not self.screen:
            return
        bindings = screen.active_bindings  # once: it asks the screen about each of its actions
        valid, back = valid_keys(screen, bindings), bindings.get("escape")
        keys = [_Key(_shown(screen, active, back), active.binding.description, active.binding.key)
                for active in valid]  # fmt: skip
        if keys != self._displayed:
            self._displayed = keys
            ranked = sorted(range(len(valid)), key=lambda number: _weight(valid, number))
            few = FEW + (not _has_way_back(valid))  # a search and the palette lead to all there is
            ends = [n for n, active in enumerate(valid) if _action(active) == "release"]
            if ends:  # the process: where it holds no accelerator, that key gives way first
                if not cast("Tutor", get_app(self)).live.owns_accelerator:
                    others = [number for number in ranked if number not in ends]
                    ranked = [*others[:few], *ends, *others[few:]]
                few += 1
            self._line = partial(KeyLine, [key.painted for key in keys], ranked, few)
            self.update(self._line(status=self._status))

    def on_click(self, event: Click) -> None:
        """Press the key that was clicked."""
        if key := event.style.meta.get(PRESSES):
            get_app(self).simulate_key(key)

    def show_status(self, text: str) -> None:
        """Say at the right how far down one is, where the keys leave room for it."""
        if text != self._status:
            self._status = text
            if self._displayed:
                self.update(self._line(status=text), layout=False)


def _shown(screen: Screen[Any], active: ActiveBinding, way_back: ActiveBinding | None) -> str:
    """Return what a key is called; with Esc before it, where Esc does the same."""
    shown, binding = get_app(screen).get_key_display(active.binding), active.binding
    is_same = way_back and way_back.enabled and way_back.binding.action == binding.action
    return f"Esc, {shown}" if is_same and binding.key != "escape" else shown


def _weight(valid: Sequence[ActiveBinding], number: int) -> tuple[int, int]:
    """Return how soon a key gives way where there is no room for all: what ends something stays."""
    action = _action(valid[number])
    has_way_back = _has_way_back(valid)
    if action in ("stop", "release"):
        return 0, number
    if valid[number].binding.key in ("enter", "escape") or action in ("help", "setup"):
        return 1, number
    if action.startswith("leave("):
        return (3 if has_way_back else 1), number
    if action.partition("(")[0] in ("move", "other"):  # from field to field, and list to list
        return 2, 0
    if action in ("search", "command_palette"):
        return (3, number) if has_way_back else (2, -1)
    return 2, number


def _has_way_back(valid: Sequence[ActiveBinding]) -> bool:
    """Return whether Esc leads anywhere: it does on every screen but the first."""
    return any(active.binding.key == "escape" for active in valid)


def _action(active: ActiveBinding) -> str:
    return active.binding.action.rpartition(".")[2]


def valid_keys(
    screen: Screen[Any], bindings: dict[str, ActiveBinding] | None = None, *, rare: bool = False
) -> list[ActiveBinding]:
    """Return the bindings to show: those that would act now, once per action.

    Args:
        screen: The one in front.
        bindings: Its active bindings, where they were asked for already.
        rare: With those that the key line has no room for: what help and the palette show.
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
    # First what is special here, then what is wanted late, the way back, and what works anywhere.
    late = getattr(screen, "late", ())

    def place(active: ActiveBinding) -> tuple[int, bool]:
        return _key_rank(active.binding.key, active.node), active.binding.action in late

    return sorted(by_action.values(), key=place)


def _key_rank(key: str, node: object) -> int:
    return 2 if isinstance(node, App) else 1 if key in ("escape", "tab") else 0


_CHARACTERS = {"question_mark": "?", "slash": "/", "colon": ":", "comma": ",", "space": " "}
