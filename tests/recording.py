"""Makes the recording of the README: the first minutes with tpustarter, as one animated SVG.

    python tests/recording.py FILE.svg

The app runs and is driven by keys. Each picture of it stands for some seconds; whoever asks the
browser for less motion sees the last one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

if "RECORDING" not in os.environ:  # again from a home of its own, so that paths are short
    HOME = Path(tempfile.mkdtemp(prefix="recording-"))
    (HOME / "tpu").symlink_to(sys.prefix)
    os.environ |= {
        "HOME": str(HOME),
        "TPUSTARTER_HOME": str(HOME / "state"),
        "RECORDING": "1",
        "JAX_PLATFORMS": "cpu",
        "VIRTUAL_ENV": str(HOME / "tpu"),
    }
    os.environ.pop("NO_COLOR", None)
    os.execv(HOME / "tpu/bin/python", [str(HOME / "tpu/bin/python"), *sys.argv])

from textual.pilot import Pilot

from tests.support.screenshot import screenshot
from tests.support.tutor import on_screen, press, settle, until
from tpustarter.tui.app.app import TpustarterApp

LESSON = "jax/gradients"
Shot = tuple[str, float]
"""A picture, and the seconds for which it is shown."""


class Recorder:
    """Takes pictures of the app."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot
        self.shots: list[Shot] = []

    async def take(self, seconds: float, *keys: str) -> None:
        """Press keys, wait for what they start, and take a picture."""
        await press(self._pilot, *keys)
        self.snap(seconds)

    def snap(self, seconds: float) -> None:
        """Take a picture of what is there now."""
        app = self._pilot.app
        self.shots.append((screenshot(app, f"f{len(self.shots)}-"), seconds))  # type: ignore[arg-type]


async def record() -> list[Shot]:
    """Choose a path, run two blocks of a lesson, change one, and start a check."""
    app = TpustarterApp()
    app.choose(replace(app.choices, theme="dark"))
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            recorder = Recorder(pilot)
            await recorder.take(2.5)
            await recorder.take(2.5, "3", "enter")
            app.go.open_lesson(LESSON)
            await settle(pilot)
            await recorder.take(2.5)
            await recorder.take(1.0, "tab")
            await pilot.press("enter")
            await pilot.pause(0.4)
            recorder.snap(1.0)
            await settle(pilot)
            recorder.snap(2.5)
            await recorder.take(1.0, "e")
            await recorder.take(1.0, "end", "enter", *"print(jax.devices()[0])")
            await recorder.take(2.5, "ctrl+r")
            await press(pilot, "escape", "escape")
            await pilot.press("c")
            await until(pilot, lambda: "RUN " in on_screen(app) or "claims hold" in on_screen(app))
            recorder.snap(1.5)
            await settle(pilot)
            recorder.snap(4.0)
    finally:
        app.live.release()
    return recorder.shots


def animate(shots: list[Shot]) -> Iterator[str]:
    """Yield the parts of one SVG that shows pictures in turn, for ever."""
    opening = shots[0][0].partition(">")[0]
    whole = sum(seconds for _, seconds in shots)
    yield f"{opening}><style>.shot {{ visibility: hidden }}"
    begins = 0.0
    for number, (_, seconds) in enumerate(shots):
        start, end = 100 * begins / whole, 100 * (begins + seconds) / whole
        shown = f"{start:.3f}% {{ visibility: visible }} {end:.3f}%, 100% {{ visibility: hidden }}"
        yield f"@keyframes s{number} {{ 0% {{ visibility: hidden }} {shown} }}"
        yield f"#s{number} {{ animation: s{number} {whole:g}s step-end infinite }}"
        begins += seconds
    last = len(shots) - 1
    yield (
        "@media (prefers-reduced-motion: reduce) { .shot { animation: none !important } "
        f"#s{last} {{ visibility: visible }} }}</style>"
    )
    for number, (svg, _) in enumerate(shots):
        yield f'<g class="shot" id="s{number}">{svg}</g>'
    yield "</svg>\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("".join(animate(asyncio.run(record()))), encoding="utf-8")
