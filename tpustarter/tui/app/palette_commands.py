"""The command palette's entries: every action, with the equivalent shell command."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from textual.app import SystemCommand
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits
from textual.system_commands import SystemCommandsProvider

from tpustarter.core.problem import Problem
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES
from tpustarter.tui.app.session import AppSession, find_session
from tpustarter.tui.app.theme import COLOURS, NO_COLOURS
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.key_line import list_active_keys
from tpustarter.tui.kit.page import Page
from tpustarter.tui.terminal.app_internals import AnyScreen

_TITLES = {
    "next_lesson": "Open the next lesson of your path",
    "exercises": "List all exercises",
    "check": "Check this machine",
    "lessons": "List all lessons",
    "paths": "Choose a path",
    "explain": "Explain an error, or a log",
    "rehearse": "Rehearse: compile for another TPU",
    "setups": "Set up environments, or this machine",
    "tpus": "List, create and delete cloud TPUs",
    "watch": "Watch the TPU: memory, duty, matrix unit",
    "settings": "Settings: Python, devices and colours",
}
"""Titles for the home screen's keys, short enough for their commands to fit in 80 columns."""
LEAST_TO_FIND, MOST_TITLES = 3, 5
"""Minimum query length for finding lessons and exercises, and maximum number of them."""
WHICH = "pytorch/which-library"
"""The lesson on choosing a library; the shell command is `tpustarter learn --which`."""
_LAST = 0.001
"""The score of the last entry."""


class PaletteCommands(SystemCommandsProvider):
    """The palette's entries, in the order of `available_commands`."""

    async def startup(self) -> None:
        """Start reading the titles of lessons and exercises, so that no key waits for them."""
        self._titles = asyncio.create_task(asyncio.to_thread(_titled, find_session(self.screen)))

    async def shutdown(self) -> None:
        self._titles.cancel()

    async def discover(self) -> Hits:
        for name, help_text, run, _ in available_commands(find_session(self.screen), self.screen):
            yield DiscoveryHit(name, run, help=help_text)

    async def search(self, query: str) -> Hits:
        """Yield the actions whose words start with the typed words, the shortest first.

        Lessons and exercises with a matching title follow, and finally a search of the lessons.
        Textual's own matcher accepts scattered letters: it finds `theme` in `Check this machine`.
        """
        tutor, matcher = find_session(self.screen), self.matcher(query)
        for name, help_text, run, _ in available_commands(tutor, self.screen):
            if rank := _rank(query, name, help_text):
                score = rank - len(name) / 1000
                yield Hit(score, matcher.highlight(name), run, help=help_text)
        text, more = query.strip(), 0
        if len(text) >= LEAST_TO_FIND:
            known = await asyncio.shield(self._titles)  # the next letter cancels only this search
            fitting = [one for one in known if _rank(text, one[0], one[1].rpartition(" ")[2]) > 1]
            fitting = sorted(fitting, key=lambda one: -_rank(text, one[0], ""))
            for number, (name, help_text, run) in enumerate(fitting[:MOST_TITLES], 1):
                yield Hit(0.5 - number / 100, matcher.highlight(name), run, help=help_text)
            more = len(fitting) - MOST_TITLES
        command = f"tpustarter learn --search {shlex.quote(text)}"
        title = f"Search for “{text}”{f', {more} titles more' if more > 0 else ''}"
        yield Hit(_LAST, title, partial(tutor.go.open_search, text), help=command)


def _titled(tutor: AppSession) -> tuple[tuple[str, str, Callable[[], None]], ...]:
    """Return the title, shell command and opening function of each lesson and exercise.

    Nothing is returned if the lessons cannot be read.
    """
    from tpustarter.core import content
    from tpustarter.learning.content import exercises

    try:
        lessons = content.read_lessons(tutor.lessons)
    except Problem:
        return ()
    go, titles = tutor.go, exercises.read_exercise_titles(lessons)
    found = [(f"Lesson: {one.title}", one.id, partial(go.open_lesson, one.id)) for one in lessons]
    found += [
        (f"Exercise: {title}", f"--exercise {name}", partial(go.open_exercise, name))
        for name, title in titles.items()
    ]
    return tuple((title, f"tpustarter learn {rest}", run) for title, rest, run in found)


def _rank(query: str, title: str, help_text: str) -> int:
    """Return how well a query matches.

    4 if the title contains it at the start of a word; 3 if its words start words of the title; 2 if
    they start words of the title or the help; 1 if words of the title contain them; otherwise 0.
    """
    typed, words, more = (re.findall(r"\w+", text.casefold()) for text in (query, title, help_text))
    if typed and f" {' '.join(typed)}" in f" {' '.join(words)}":
        return 4
    for rank, where in ((3, words), (2, words + more)):
        if typed and all(any(word.startswith(part) for word in where) for part in typed):
            return rank
    return int(bool(typed) and all(any(part in word for word in words) for part in typed))


def available_commands(app: AppSession, screen: AnyScreen) -> Iterator[SystemCommand]:
    """Yield the screen's actions, then those that are available everywhere."""
    home = app.screen_stack[0]
    keys = [binding for binding in HomeScreen.BINDINGS if isinstance(binding, Binding)]
    does = {binding.action: binding.description for binding in keys}
    listed: set[str] = set()
    for active in list_active_keys(screen, rare=True):
        binding = active.binding
        if binding.action == "command_palette":
            continue
        title = f"{binding.description[:1].upper()}{binding.description[1:]}"
        if does.get(binding.action) == binding.description:  # the same action as on the home screen
            listed.add(binding.action)
            title = _TITLES.get(binding.action, title)
        run = partial(app.run_action, binding.action, active.node)
        title = f"{title} ({app.get_key_display(binding)})"
        yield SystemCommand(title, binding.tooltip, run)
    for binding in keys:
        if binding.action in _TITLES.keys() - listed:  # others are useful only on the home screen
            title = f"{_TITLES[binding.action]} ({app.get_key_display(binding)} at home)"
            run = partial(app.run_action, binding.action, home)
            yield SystemCommand(title, binding.tooltip, run)
    for title, command, run in _anywhere(app):
        yield SystemCommand(title, command, run)
    if isinstance(screen, Page):
        yield from _colours(app, screen)


def _anywhere(app: AppSession) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Yield the title, shell command and function of the actions that have no key."""
    from tpustarter.checking.machine_check import CheckRequest

    go = app.go
    for level, title in (
        ("static", "Check this machine even while a job runs"),
        ("full", "Check this machine, and measure its speed"),
        ("soak", "Check this machine for ten minutes on end"),
    ):
        request = CheckRequest(level=level, devices=app.choices.devices)
        yield title, f"tpustarter check --level {level}", partial(go.open_checks, request)
    which = f"tpustarter learn {WHICH}"
    yield "Which library to use", which, partial(go.open_lesson, WHICH)
    for profile in (*PROFILES.values(), *MACHINE.values()):
        what = "Set up this machine: " if profile.name in MACHINE else "Set up "
        command = f"tpustarter setup {profile.name}"
        yield f"{what}{profile.title}", command, partial(go.open_setup, profile.name)


def _colours(app: AppSession, page: Page) -> Iterator[SystemCommand]:
    def choose(name: str) -> None:
        app.choose(replace(app.choices, theme=name or None, plain=name == NO_COLOURS))
        page.remember()

    for name, text in {**COLOURS, NO_COLOURS: "none"}.items():
        yield SystemCommand(
            f"Colours: {text.replace(':', ',')}",
            "the theme, kept for the next start",
            partial(choose, name),
        )
