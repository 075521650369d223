"""Drives the app in tests: sample lessons and checks, keys, and the text on the screen."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
import unicodedata
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from textual import events
from textual._context import visible_screen_stack
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from tests.support.places import TESTS
from tpustarter.learning.progress import course
from tpustarter.machine import host
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.kit.key_line import KeyBar

SOON_S = 0.1
"""Longest interval, in seconds, of a timer that `settle` waits for."""
SAMPLES = TESTS / "samples" / "checks" / "host"
QUIET = 3
"""Number of polls in a row without pending work before a test continues."""
ALWAYS_THERE = {
    "MessagePump._process_messages",
    "Timer._run_timer",
    "App.run_test.<locals>.run_app",
    "Worker._run",
}
"""Tasks of an idle app."""
TICK_S = 0.005
"""Seconds between two polls for asynchronous work."""
HANGS_S = 120
"""Seconds after which the app counts as hung."""

HELLO = """# Hello

A first lesson about a [word](../glossary.md#word).

```python run id=hello
name = "you"
print("hello", name)
```

```output of=hello on=any
hello you
```

```python run id=again
print("again", name)
```

```output of=again on=any
again you
```
"""
HANGS = """# Hangs

```python run id=hangs
import os, time
print(f"the block is process {os.getpid()}.", flush=True)
while True:
    time.sleep(0.1)
```
"""
JAX_HANGS = '''"""Never ends."""

import time

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/"


def run():
    while True:
        time.sleep(0.1)
    yield
'''


def write_lessons(folder: Path, **lessons: str) -> Path:
    """Write lessons by name into the track `start`, with a path over all of them."""
    texts = lessons or {"hello": HELLO, "hangs": HANGS}
    (folder / "start").mkdir(parents=True, exist_ok=True)
    for number, (name, text) in enumerate(texts.items(), 1):
        header = f"title: {name.title()}\nminutes: 2\nneeds: {{}}\nchecks: [host.passes]\n"
        path = folder / "start" / f"{number:04}-{name}.md"
        path.write_text(f"---\n{header}sources: [https://example.com/a]\n---\n\n{text}")
    ids = "".join(f"\n    - start/{name}" for name in texts)
    entry = "- id: {}\n  title: {}\n  who: Somebody.\n  lessons:" + ids + "\n"
    paths = entry.format("laptop", "I only have a laptop") + entry.format("other", "Another path")
    (folder / "paths.yml").write_text(paths)
    (folder / "glossary.md").write_text("# Glossary\n\n## word\n\nWhat is said at once.\n")
    return folder


def write_checks(folder: Path, *names: str) -> Path:
    """Copy sample checks, each named after its outcome; one that hangs is given a long timeout.

    With its own timeout of two seconds, it would end before the next key on a busy machine.
    """
    (folder / "host").mkdir(parents=True, exist_ok=True)
    for name in names or ("passes", "fails", "warns"):
        text = (SAMPLES / f"{name}.py").read_text().replace("TIMEOUT_S = 2\n", "TIMEOUT_S = 120\n")
        (folder / "host" / f"{name}.py").write_text(text)
    return folder


def on_screen(app: TpustarterApp) -> str:
    """Return the text on the screen, one line per row."""
    # As Textual (8.2.8) does before it draws; otherwise pages behind the front one are missing.
    visible_screen_stack.set(app._background_screens)
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


class TutorPilot(Pilot[None]):
    """A pilot that continues once its events are handled, and never after a fixed time.

    Textual's own (8.2.8) sleeps for 20 ms or more after each key, until the process twice uses
    little processor time. On a busy machine that takes up to two seconds and proves nothing.
    """

    async def press(self, *keys: str) -> None:
        """Press keys one by one, each after the previous one was handled."""
        for key in keys:
            event = key_event(key)
            event.set_sender(self.app)
            self.app.post_message(event)
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        """Wait until every widget has handled its messages, and draw."""
        assert delay is None, "wait for a fact: `until` or `settle`"
        if self.app._exception:  # the app has ended, and no key will change its screens
            raise self.app._exception
        await self._wait_for_screen(timeout=HANGS_S)
        self.app.screen._on_timer_update()


def key_event(key: str) -> events.Key:
    """Return Textual's event for a key that a test names, as its pilot does."""
    if len(key) == 1 and not key.isalnum():
        key = _character_to_key(key)
    name = _get_unicode_name_from_key(REPLACED_KEYS.get(key, key))
    try:
        character = unicodedata.lookup(name)
    except KeyError:
        character = key if len(key) == 1 else None
    return events.Key(key, character)


def is_due(timer: Timer, soon_s: float) -> bool:
    """Return whether a timer will fire once, and soon."""
    is_set = timer._task is not None and not timer._task.done()
    return is_set and timer._repeat == 0 and timer._interval <= soon_s


def has_messages(app: TpustarterApp) -> bool:
    """Return whether any message is pending or being handled."""
    for node in {app, *app._registry}:
        waits = node._message_queue.ready_event._waiters  # type: ignore[attr-defined]
        if node._message_queue.qsize() or node._next_callbacks or not (waits or node._closed):
            return True
    return False


def has_to_paint(app: TpustarterApp) -> bool:
    """Return whether a redraw, or a callback after it, is pending."""
    screen = app.screen
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._dirty_widgets
        or screen._callbacks
    )


def has_more_to_come(app: TpustarterApp, soon_s: float, beside: str | None) -> bool:
    """Return whether a task or animation is running, or a timer will fire soon.

    Textual parses Markdown in a thread that is not one of the app's workers.
    """
    tasks = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
    own = asyncio.current_task().get_coro().__qualname__  # type: ignore[union-attr]
    timers = [timer for node in {app, *app._registry} for timer in node._timers]
    is_moving = bool(app.animator._animations or app.animator._scheduled)
    is_awaited = bool(tasks - ALWAYS_THERE - {own, beside})
    return is_moving or is_awaited or any(is_due(timer, soon_s) for timer in timers)


def paint_on_demand() -> None:
    """Draw an app that `driven` started only when a test reads the screen, not at each change.

    A headless terminal shows nothing, and drawing takes a third of the time of a test.
    """
    refresh = Screen._compositor_refresh

    def refresh_seen(self: Screen[Any]) -> None:
        app = self.app
        if app not in UNSEEN or self is not app.screen:
            refresh(self)
            return
        self._compositor._dirty_regions.clear()
        self._dirty_widgets.clear()
        app._update_mouse_over(self)

    Screen._compositor_refresh = refresh_seen  # type: ignore[method-assign]


UNSEEN: WeakSet[App[Any]] = WeakSet()
PARSE_RULES = Stylesheet._parse_rules


def share_parsed_rules() -> None:
    """Parse each style sheet once per process, and not once per app."""
    parsed: dict[Any, list[RuleSet]] = {}

    def parse_once(self: Stylesheet, css: str, *where: Any, **more: Any) -> list[RuleSet]:
        key = (css, tuple(self._variables.items()), where, *more.items())
        if key not in parsed:
            parsed[key] = PARSE_RULES(self, css, *where, **more)
        return parsed[key]

    Stylesheet._parse_rules = parse_once  # type: ignore[method-assign]
    # A widget's styles take a hash of every rule; Textual's has the same identity, in Python.
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]


paint_on_demand()
share_parsed_rules()


def unfinished(app: TpustarterApp, beside: str | None) -> list[Worker[Any]]:
    """Return the running workers outside a group."""
    return [one for one in app.workers if not one.is_finished and one.group != beside]


async def settle(pilot: Pilot[None], *, soon_s: float = SOON_S, beside: str | None = None) -> None:
    """Wait until no worker runs and all their messages are handled and drawn.

    Args:
        pilot: The pilot of the app.
        soon_s: Longest interval, in seconds, of a one-shot timer that is waited for.
        beside: The group of a worker, or the name of a task, that may go on running, such as a
            check that hangs.

    Textual's own `pause` checks if this process uses processor time. On a busy machine it may get
    none, which looks the same as being idle.
    """
    app: TpustarterApp = pilot.app  # type: ignore[assignment]
    quiet, deadline = 0, time.monotonic() + HANGS_S
    while quiet < QUIET and not app._exit and not app._exception_event.is_set():
        assert time.monotonic() < deadline, f"The app is never done with:\n{on_screen(app)}"
        for worker in unfinished(app, beside):
            with contextlib.suppress(WorkerFailed, WorkerCancelled):
                await worker.wait()
            deadline = time.monotonic() + HANGS_S
        more = has_more_to_come(app, soon_s, beside)
        await asyncio.sleep(TICK_S if more else 0)  # one turn of the event loop
        handles, paints = has_messages(app), has_to_paint(app)
        if paints and not handles:
            app.screen._on_timer_update()
        quiet = 0 if more or handles or paints or unfinished(app, beside) else quiet + 1


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press keys one by one, wait for the work that they start, and return the screen."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
    return on_screen(pilot.app)  # type: ignore[arg-type]


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Handle messages until a condition is true."""
    deadline = time.monotonic() + HANGS_S
    while not true():
        assert time.monotonic() < deadline, on_screen(pilot.app)  # type: ignore[arg-type]
        await asyncio.sleep(TICK_S)
        await pilot.pause()


@contextlib.asynccontextmanager
async def driven(
    app: TpustarterApp, size: tuple[int, int] = (80, 24), *, notifications: bool = False
) -> AsyncGenerator[TutorPilot]:
    """Start an app without a terminal, with content and notifications chosen by the test."""
    UNSEEN.add(app)
    async with app.run_test(size=size, notifications=notifications):
        yield TutorPilot(app)


@contextlib.asynccontextmanager
async def tutor(
    folder: Path,
    *,
    size: tuple[int, int] = (80, 24),
    machine: host.Machine | None = None,
    lessons: dict[str, str] | None = None,
    checks: tuple[str, ...] = (),
    path: str | None = "laptop",
) -> AsyncGenerator[TutorPilot]:
    """Start the app on sample content, and end its lesson process afterwards.

    Without a path, it is the first start, which asks for one.
    """
    if path:
        course.choose_path(path)
    app = TpustarterApp(
        machine=machine,
        lessons=write_lessons(folder / "lessons", **(lessons or {})),
        checks=write_checks(folder / "checks", *checks),
    )
    try:
        async with driven(app, size, notifications=True) as pilot:
            await settle(pilot)
            yield pilot
    finally:
        app.live.release()


def named_keys(app: TpustarterApp, width: int = 76) -> list[str]:
    """Return the keys in the first key line, without the position in a list."""
    line = app.screen.query_one(KeyBar).render().lines(width)[0].plain  # type: ignore[union-attr]
    return re.sub(r"  +\d+ of \d+$", "", line).split("  ")


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run an asynchronous test."""
    asyncio.run(test())  # type: ignore[arg-type]


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
