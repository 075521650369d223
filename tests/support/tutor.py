"""Drives the app in tests: sample lessons and checks, keys, and what is on the screen."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.timer import Timer
from textual.worker import WorkerCancelled, WorkerFailed

from tests.support.places import TESTS
from tpustarter.learning import course
from tpustarter.machine import host
from tpustarter.tui.app import Starter
from tpustarter.tui.key_line import Keys

SOON_S = 0.1
"""What waits no longer than this before it acts is waited for, in seconds."""
SAMPLES = TESTS / "samples" / "checks" / "host"
QUIET = 3
"""How many looks in a row find nothing left to do before a test goes on."""

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
    """Copy sample checks, each named after its outcome; one that hangs does so until it is stopped.

    By itself it would end after two seconds, which on a busy machine is before the next key.
    """
    (folder / "host").mkdir(parents=True, exist_ok=True)
    for name in names or ("passes", "fails", "warns"):
        text = (SAMPLES / f"{name}.py").read_text().replace("TIMEOUT_S = 2\n", "TIMEOUT_S = 120\n")
        (folder / "host" / f"{name}.py").write_text(text)
    return folder


def on_screen(app: Starter) -> str:
    """Return what is painted, one line per row."""
    # As Textual (8.2.8) does where it paints: else a page is not seen behind what is in front.
    visible_screen_stack.set(app._background_screens)
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def is_due(timer: Timer) -> bool:
    """Return whether a timer acts once, and soon."""
    is_set = timer._task is not None and not timer._task.done()
    return is_set and timer._repeat == 0 and timer._interval <= SOON_S


def is_busy(app: Starter) -> bool:
    """Return whether a worker runs, a message waits anywhere, or something is yet to be painted.

    Textual's own `pause` asks whether this process uses the processor. On a busy machine it is
    given none, which looks the same as having nothing to do.
    """
    if any(not worker.is_finished for worker in app.workers):
        return True
    for node in {app, *app._registry}:
        waits = node._message_queue.ready_event._waiters  # type: ignore[attr-defined]
        if node._message_queue.qsize() or node._next_callbacks or not (waits or node._closed):
            return True
        if any(is_due(timer) for timer in node._timers):
            return True
    screen = app.screen
    return bool(
        screen._layout_required or screen._repaint_required or screen._dirty_widgets
        or screen._callbacks
    )  # fmt: skip


async def settle(pilot: Pilot[None]) -> None:
    """Wait until no worker runs and all that they posted is handled and painted."""
    app, quiet = pilot.app, 0
    deadline = time.monotonic() + 60
    while quiet < QUIET and not app._exit:
        assert time.monotonic() < deadline, f"The app is never done with:\n{on_screen(app)}"  # type: ignore[arg-type]
        for worker in [one for one in app.workers if not one.is_finished]:
            with contextlib.suppress(WorkerFailed, WorkerCancelled):
                await worker.wait()
            deadline = time.monotonic() + 60
        await pilot.pause(0)
        quiet = 0 if is_busy(app) else quiet + 1  # type: ignore[arg-type]


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press keys one by one, wait for what they start, and return the screen."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
    return on_screen(pilot.app)  # type: ignore[arg-type]


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Handle messages until something is true, for at most half a minute."""
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, on_screen(pilot.app)  # type: ignore[arg-type]
        await pilot.pause(0.02)


@contextlib.asynccontextmanager
async def tutor(
    folder: Path,
    *,
    size: tuple[int, int] = (80, 24),
    machine: host.Machine | None = None,
    lessons: dict[str, str] | None = None,
    checks: tuple[str, ...] = (),
    path: str | None = "laptop",
) -> AsyncGenerator[Pilot[None]]:
    """Start the app on sample content, and end its lesson process afterwards.

    Without a path it is the first start, which asks for one.
    """
    if path:
        course.follow(path)
    app = Starter(
        machine=machine,
        lessons=write_lessons(folder / "lessons", **(lessons or {})),
        checks=write_checks(folder / "checks", *checks),
    )
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(pilot)
            yield pilot
    finally:
        app.live.release()


def named_keys(app: Starter, width: int = 76) -> list[str]:
    """Return what the first key line says, without how far down a list one is."""
    line = app.screen.query_one(Keys).render().lines(width)[0].plain  # type: ignore[union-attr]
    return re.sub(r"  +\d+ of \d+$", "", line).split("  ")


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run an asynchronous test."""
    asyncio.run(test())  # type: ignore[arg-type]


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
