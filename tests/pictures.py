"""Makes the pictures of `.github/screens`: every screen, on machines laid out for it.

    python tests/pictures.py FOLDER [SCENE ...]

FOLDER gets a folder for each look, dark and light, 80 and 160 columns wide, with an SVG for each
screen, or for those of a scene: one of the functions below whose names are in `SCENES`. They show
no path of the machine they were made on. Those of a rehearsal are made with
TPUSTARTER_LIBTPU_PYTHON set to a Python that has jax and libtpu.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LOOKS = {"dark-80": (80, 24), "light-80": (80, 24), "dark-160": (160, 44), "light-160": (160, 44)}
"""The theme and the columns, and the size of the terminal."""

SCENES = (
    "lessons",
    "training",
    "drawings",
    "tries",
    "checks",
    "setup",
    "tpus",
    "jobs",
    "rehearsal",
    "watch",
)
"""The functions below that take pictures."""

if unknown := [name for name in sys.argv[2:] if name not in SCENES]:
    sys.exit(f"error: no scene {', '.join(unknown)}, expected some of {', '.join(SCENES)}")
if "LOOK" not in os.environ:
    sys.argv[1] = str(Path(sys.argv[1]).absolute())  # a scene changes the folder it is in
    for look in LOOKS:
        subprocess.run([sys.executable, *sys.argv], env={**os.environ, "LOOK": look}, check=True)
    sys.exit()
if "PICTURES" not in os.environ:  # again from a home of its own, so that paths are short
    WORK = Path(tempfile.mkdtemp(prefix="pictures-"))
    HOME = WORK / "home"
    HOME.mkdir()
    (HOME / "tpu").symlink_to(sys.prefix)
    os.environ |= {
        "HOME": str(HOME),
        "TPUSTARTER_HOME": str(WORK / "state"),
        "PICTURES": str(WORK),
        "JAX_PLATFORMS": "cpu",
        "VIRTUAL_ENV": str(HOME / "tpu"),
    }
    os.environ.pop("NO_COLOR", None)
    os.execv(HOME / "tpu/bin/python", [str(HOME / "tpu/bin/python"), *sys.argv])

WORK = Path(os.environ["PICTURES"])
STUDENT = WORK / "home"

from textual import events  # noqa: E402
from textual.pilot import Pilot  # noqa: E402
from textual.widgets import Input  # noqa: E402

from tests.figures import figures_of  # noqa: E402
from tests.support.cloud_app import connecting  # noqa: E402
from tests.support.fake_cloud import NEVER, serving  # noqa: E402
from tests.support.fake_remote import UNREACHED, lay_remote, node, told  # noqa: E402
from tests.support.fake_remote import behave as behave_remotely  # noqa: E402
from tests.support.fake_tools import behave, lay_tools  # noqa: E402  the app reads HOME when it is imported
from tests.support.fake_workers import ending_jobs, lay_workers  # noqa: E402
from tests.support.machines import lay_out  # noqa: E402
from tests.support.metrics_server import gauges, serve  # noqa: E402
from tests.support.places import TESTS  # noqa: E402
from tests.support.screenshot import screenshot  # noqa: E402
from tests.support.stubs import make_python  # noqa: E402
from tests.support.tutor import HELLO, on_screen, press, settle, until, write_checks, write_lessons  # noqa: E402
from tpustarter.core import content  # noqa: E402
from tpustarter.learning.content import exercises  # noqa: E402
from tpustarter.tui.app.app import TpustarterApp  # noqa: E402
from tpustarter.watch.metrics_client import PORTS_VARIABLE  # noqa: E402

CHECKS = TESTS / "samples" / "machine_checks"
LOOK = os.environ["LOOK"]
FOLDER = Path(sys.argv[1]) / LOOK


@contextlib.asynccontextmanager
async def app(path: str = "laptop", **given: Any) -> AsyncGenerator[Pilot[None]]:
    """Start the app on a terminal that looks as it should, on a path."""
    starter = TpustarterApp(**given)
    starter.choose(replace(starter.choices, theme=LOOK.partition("-")[0], path=path))
    try:
        async with starter.run_test(size=LOOKS[LOOK], notifications=True) as pilot:
            await settle(pilot)
            yield pilot
    finally:
        starter.live.release()


async def take(pilot: Pilot[None], name: str) -> None:
    """Write one picture; refuses one that shows where it was made."""
    await pilot.pause(0.2)
    seen = on_screen(pilot.app)  # type: ignore[arg-type]
    assert str(WORK) not in seen.replace("\n", ""), f"{name} shows {WORK}"
    svg = screenshot(pilot.app)  # type: ignore[arg-type]
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


async def open_lesson(pilot: Pilot[None], lesson: str, at: str = "") -> Any:
    """Open a lesson, and return its screen once all of it is laid out."""
    pilot.app.go.open_lesson(lesson, at=at)  # type: ignore[attr-defined]
    screen: Any = pilot.app.screen
    await until(pilot, lambda: screen.is_ready)
    await settle(pilot)
    return screen


def laptop(name: str, **tools: Any) -> Any:
    """Return a laptop with uv, a Python, and a home of its own."""
    found = lay_tools(WORK / name / "bin", uv=True, python=True)
    behave(found, **tools)
    (WORK / name / "machine").mkdir(parents=True)
    os.environ["TPUSTARTER_HOME"] = str(WORK / name / ".local/state/tpustarter")
    env = {"PATH": str(found), "HOME": str(WORK / name)}
    return lay_out(WORK / name / "machine", env=env)


TOO_BIG = """Traceback (most recent call last):
  File "train.py", line 88, in <module>
    state, loss = step(state, next(batches))
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. \
Ran out of memory in memory space hbm. Used 21.32G of 15.75G hbm. Exceeded hbm capacity by 5.57G.
"""


async def lessons() -> None:
    """Take home, a lesson before, during and after a run, and blocks that fail."""
    async with app() as pilot:
        await press(pilot, "p")
        await take(pilot, "paths")
        await press(pilot, "escape")
        await take(pilot, "home")
        await press(pilot, "l")
        await take(pilot, "lessons")
        await press(pilot, "slash", *"out of memory")
        await take(pilot, "search")
        await press(pilot, "escape", "escape", "escape", "e")
        await take(pilot, "exercises")
        await press(pilot, "escape", "colon")
        await take(pilot, "palette")
        await press(pilot, "escape", "comma")
        await take(pilot, "settings")
        await press(pilot, "escape", "question_mark")
        await take(pilot, "help")
        await press(pilot, "escape", "f")
        await take(pilot, "explain")
        pilot.app.post_message(events.Paste(TOO_BIG))
        await until(
            pilot,
            lambda: (
                "What is known" in on_screen(pilot.app)  # type: ignore[arg-type]
                or "needs more HBM" in on_screen(pilot.app)
            ),
        )  # type: ignore[arg-type]
        await settle(pilot)
        await take(pilot, "explain-pasted")
        await press(pilot, "escape", "escape")
        await open_lesson(pilot, "jax/how-fast")
        await take(pilot, "lesson-before")
        await pilot.press("r")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))  # type: ignore[arg-type]
        await take(pilot, "lesson-running")
        await settle(pilot)
        await take(pilot, "lesson")
        await press(pilot, "e", *"print(devicess)", "ctrl+r")
        await take(pilot, "lesson-error")
    wrong = write_lessons(WORK / "lessons", hello=HELLO.replace("hello you\n", "hello nobody\n"))
    async with app(lessons=wrong) as pilot:
        await press(pilot, "enter", "r")
        await take(pilot, "lesson-failed")


TRAINS = """# Train

Below a block that trains, the loss is drawn as it falls.

```python run id=train plot=losses x=steps
import math
import time

losses, steps = [], []
for step in range(200):
    steps.append(step)
    losses.append(math.exp(-step / 40) + 0.1 / (1 + step % 7))
    time.sleep(0.05)  # so that it still trains when the picture is taken
print("loss", losses[-1])
```
"""


async def training() -> None:
    """Take the curve of a block that still trains."""
    async with app(lessons=write_lessons(WORK / "trains", train=TRAINS)) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await pilot.pause(5)
        await take(pilot, "training")
        await press(pilot, "x")


async def drawings() -> None:
    """Take three figures, a plot of measurements, and an array over devices."""
    figures = {
        "figure-dispatch": ("jax/how-fast", "The first call compiles, and every call returns"),
        "figure-shardings": ("jax/sharding", "One 8 x 8 array under four shardings"),
        "figure-parallelisms": ("jax/a-step-by-hand", "Who holds which quarter"),
    }
    for name, (lesson, caption) in figures.items():
        async with app() as pilot:
            await open_lesson(pilot, lesson, caption_with(lesson, caption))
            await take(pilot, name)
    for name, lesson, block in (
        ("plot", "jax/gradients", "train"),
        ("layout", "jax/sharding", "first-shards"),
    ):
        async with app() as pilot:
            views = (await open_lesson(pilot, lesson))._page.views
            view = next(view for view in views if view.block.id == block)
            pilot.app.screen.set_focus(view)
            await settle(pilot)
            await press(pilot, "r")
            view.query_one(".drawing").scroll_visible(animate=False)
            await take(pilot, name)


def caption_with(lesson_id: str, words: str) -> str:
    """Return the caption of the figure of a lesson that holds some words."""
    lesson = next(lesson for lesson in content.read_lessons() if lesson.id == lesson_id)
    return next(figure.caption for figure in figures_of(lesson) if words in figure.caption)


async def tries() -> None:
    """Take a question that was answered, and an exercise with a wrong answer and a right one."""
    os.environ["TPUSTARTER_HOME"] = str(STUDENT / ".local/state/tpustarter")
    async with app() as pilot:
        await open_lesson(pilot, "start/when-it-pays-off")
        while "press 1" not in on_screen(pilot.app):  # type: ignore[arg-type]
            await press(pilot, "space")
        await press(pilot, "1", "2")
        await take(pilot, "question")
        pilot.app.go.open_exercise("jax/ring-all-reduce")  # type: ignore[arg-type]
        await settle(pilot)
        await press(pilot, "h", "r")
        await take(pilot, "exercise")
        exercise: Any = pilot.app.screen
        exercises.learner_file_path(exercise._exercise).write_text(exercise._exercise.solution)
        await until(pilot, lambda: "You learned" in on_screen(pilot.app))  # type: ignore[arg-type]
        await settle(pilot)
        await take(pilot, "exercise-right")


async def checks() -> None:
    """Take checks while they run, done and failed, and home on a machine with a TPU."""
    async with app() as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))  # type: ignore[arg-type]
        await take(pilot, "checks-running")
        await settle(pilot)
        await take(pilot, "checks")
    async with app(checks=write_checks(WORK / "checks", "passes", "fails", "raises")) as pilot:
        await press(pilot, "c")
        await take(pilot, "checks-failed")
        await press(pilot, "enter")
        await take(pilot, "check")
    (WORK / "tpu").mkdir()
    make_python(STUDENT / "jax", jax="0.10.2", libtpu="0.0.42", kind="TPU v5 lite", count=8)
    env = {**os.environ, "VIRTUAL_ENV": str(STUDENT / "jax")}
    del env["JAX_PLATFORMS"]
    machine = lay_out(WORK / "tpu", "v5e", chips=8, env=env)
    async with app(machine=machine, path="fresh-tpu-vm") as pilot:
        await take(pilot, "home-tpu")


async def setup() -> None:
    """Take the set-ups, the plan of one, the set-up while it runs, and one that fails."""
    said = "Collecting jax\nDownloading jax-0.12.0.1-py3-none-any.whl (2.9 MB)\n"
    machine = laptop("good", pip={"say": said, "sleep": 3})
    async with app(machine=machine, checks=CHECKS) as pilot:
        await press(pilot, "s")
        await take(pilot, "setups")
        await press(pilot, "enter")
        await take(pilot, "setup")
        await pilot.press("y")
        await until(pilot, lambda: "Downloading" in on_screen(pilot.app))  # type: ignore[arg-type]
        await take(pilot, "setup-running")
        await settle(pilot)
    said = "ERROR: Could not install packages due to an OSError: No space left on device\n"
    async with app(machine=laptop("bad", pip={"say": said, "code": 1}), checks=CHECKS) as pilot:
        await press(pilot, "s", "enter", "y")
        await take(pilot, "setup-failed")
        pilot.app.checks = None  # type: ignore[attr-defined]  those that look at the machine
        await press(pilot, "f")
        await take(pilot, "explained")


async def tpus() -> None:
    """Take the TPUs of Google Cloud: none, waiting, failed, deleting; the form; home's line."""
    os.environ |= {
        "TPUSTARTER_HOME": str(WORK / "tpus/.local/state/tpustarter"),
        "CLOUDSDK_CORE_PROJECT": "my-project",
        "CLOUDSDK_COMPUTE_ZONE": "us-central1-b",
        "CLOUDSDK_CONFIG": str(WORK / "gcloud"),
    }
    no_capacity = 'There is no more capacity in the zone "us-central1-b"'
    with serving() as cloud:
        given = {"connect": connecting(cloud), "clock": cloud.clock}
        cloud.types["us-central1-b"] = ["v5litepod-4", "v6e-1", "v6e-4", "v6e-8"]
        async with app(**given) as pilot:
            await press(pilot, "u")
            await take(pilot, "tpus-empty")
            await press(pilot, "n", *"bert", "tab", *"v6e", "tab", "tab", "space", "up", "up")
            await press(pilot, "end", *"-8")
            await take(pilot, "tpu-create")
            cloud.scripts["us-central1-b"] = [(NEVER, None)]
            await press(pilot, "enter", *"bert")
            await take(pilot, "tpu-create-name")
            await pilot.press("enter")
            await until(pilot, lambda: "WAITING_FOR" in on_screen(pilot.app))  # type: ignore[arg-type]
            await press(pilot, "escape", "escape")
            cloud.clock.sleep(2400)
            await press(pilot, "r")
            await take(pilot, "tpus-waiting")
            await press(pilot, "escape")
            await take(pilot, "home-ledger")
            asked = next(iter(cloud.made.values()))
            asked.steps, asked.error = ((0, "FAILED"),), (8, no_capacity)
            await press(pilot, "u", "enter")
            await take(pilot, "tpus-failed")
            one = node("llama", workers=4)
            cloud.nodes[one.name] = one
            tools = lay_remote(WORK / "tools", "gcloud")
            os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
            (STUDENT / ".ssh").mkdir()
            (STUDENT / ".ssh/google_compute_engine").touch()
            await press(pilot, "escape", "r", "end")
            await take(pilot, "tpus-slice")
            await check_slice(pilot, tools)
            behave_remotely(tools, w2={"say": "No module named 'jax'\n", "code": 1})
            await press(pilot, "c", *"python3 -m pip list")
            await press(pilot, "enter", "down", "down")
            pilot.app.screen._folder = Path("~/.local/state/tpustarter/tpu-runs")  # type: ignore[attr-defined]
            pilot.app.screen._tick()  # type: ignore[attr-defined]
            await take(pilot, "tpu-run")
            await press(pilot, "escape", "escape")
            cloud.nodes.clear()
            asked.steps, cloud.delete_s = ((0, "ACTIVE"),), 1e9
            await press(pilot, "r", "d", *"bert", "enter", "escape")
            await take(pilot, "tpus-deleting")


JOB = (
    "for step in $(seq 60); do echo step $step, loss 0.$((9000 / step)); done; "
    "[ -e go ] || touch waits; while [ ! -e go ]; do sleep 0.1; done; "
    "case $TPUSTARTER_JOB in *w1) tail -n 2 error; exit 1;; esac"
)
"""A job that waits, and whose second worker runs out of memory."""


async def jobs() -> None:
    """Take a job on two workers: its form, while it runs, once it has failed, and the list."""
    os.environ |= {
        "TPUSTARTER_HOME": str(WORK / "jobs/.local/state/tpustarter"),
        "CLOUDSDK_CORE_PROJECT": "my-project",
        "CLOUDSDK_COMPUTE_ZONE": "us-central1-b",
        "CLOUDSDK_CONFIG": str(WORK / "gcloud"),
        "HOME": str(WORK / "jobs"),
    }
    (WORK / "jobs/.ssh").mkdir(parents=True)
    (WORK / "jobs/.ssh/google_compute_engine").touch()
    (WORK / "train").mkdir()
    (WORK / "train/error").write_text(TOO_BIG)
    (WORK / "train/train.py").write_text(f"import os\nos.execlp('sh', 'sh', '-c', {JOB!r})\n")
    os.chdir(WORK / "train")
    with serving() as cloud, ending_jobs(lay_workers(WORK / "workers")) as tools:
        os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
        one = node("llama", workers=2)
        cloud.nodes[one.name] = one
        async with app(connect=connecting(cloud), clock=cloud.clock) as pilot:
            await press(pilot, "u", "b", "n", *"python3 train.py", "tab", "tab", "tab", *"out/**")
            await take(pilot, "job-form")
            await pilot.press("enter")
            await until(pilot, lambda: on_screen(pilot.app).count("60 lines") == 2)  # type: ignore[arg-type]
            await take(pilot, "job")
            for code in tools.glob("w*/tpustarter-jobs/*/code"):
                (code / "go").touch()
            await until(pilot, lambda: "f explains it" in on_screen(pilot.app))  # type: ignore[arg-type]
            await take(pilot, "job-failed")
            await press(pilot, "escape")
            await take(pilot, "jobs")


async def check_slice(pilot: Pilot[None], tools: Path) -> None:
    """Take a slice of four hosts, one of which is not reached."""
    placed = {"event": "placed", "hosts": 4}
    waits = {"event": "arriving", "missing": [1, 3]}
    hosts: dict[str, Any] = {
        "w0": {"say": told(0, placed, waits), "lifeline": True},
        "w1": UNREACHED,
        "w2": {"say": told(2, placed), "lifeline": True},
        "w3": {"say": told(3, {"event": "started"}), "lifeline": True},
    }
    behave_remotely(tools, **hosts)
    await press(pilot, "h")
    await pilot.press("enter")
    for text in ("MISSING", "has arrived", "looks at itself"):
        await until(pilot, lambda text=text: text in on_screen(pilot.app))  # type: ignore[misc, arg-type]
    await pilot.press("down")
    await take(pilot, "slice")
    await press(pilot, "x", "escape")


STEP = """import jax.numpy as jnp


def step(x, weights):
    return jnp.sum((x @ weights.T) @ weights)
"""


async def rehearsal() -> None:
    """Take the choice of programs and TPUs, their results, and their memory."""
    (STUDENT / "tpu-rehearse").symlink_to(Path(os.environ["TPUSTARTER_LIBTPU_PYTHON"]).parents[1])
    os.environ["VIRTUAL_ENV"] = str(STUDENT / "tpu-rehearse")
    (STUDENT / "step.py").write_text(STEP)
    os.chdir(STUDENT)
    async with app() as pilot:
        await press(pilot, "r")
        await take(pilot, "rehearse")
        await press(pilot, "home", "enter")
        line = "step.py:step f32[32768,32768] f32[65536,32768]"
        pilot.app.screen.query_one("#search", Input).value = line
        await press(pilot, "enter", "r")
        await take(pilot, "rehearsal")
        await press(pilot, *["right"] * 3, "enter")
        await take(pilot, "rehearsal-too-big")
        await press(pilot, "escape", "c")
        await take(pilot, "rehearsal-compared")


async def watch() -> None:
    """Take the live view beside a program that is bound by memory; the numbers are made up."""
    (WORK / "v6e").mkdir()
    processes = {"pid": 4242, "command": "python train.py"}
    with serve(gauges(8, duty=98, bandwidth=85)) as port:
        environ = {"HOME": str(WORK), "PATH": "", PORTS_VARIABLE: str(port)}
        machine = lay_out(WORK / "v6e", "v6e", chips=8, holder=processes, env=environ)
        async with app(machine=machine) as pilot:
            await press(pilot, "w")
            live: Any = pilot.app.screen._watch  # type: ignore[attr-defined]
            units = {"matrix_unit_percent": ["6.00"] * 8, "throttle_score": ["0-0"] * 8}
            live._follower = SimpleNamespace(values=units, ended=None, stop=lambda **_: None)
            await press(pilot, "r")
            reading: Any = pilot.app.screen._reading  # type: ignore[attr-defined]
            live.history._points.clear()
            for second in range(-240, 0, 2):
                duty = 98 if second > -170 else 40
                devices = [replace(one, duty_cycle_percent=duty) for one in reading.devices]
                at = reading.at + timedelta(seconds=second)
                live.history.add(replace(reading, at=at, devices=tuple(devices)))
            await press(pilot, "r")
            await take(pilot, "watch")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for scene in sys.argv[2:] or SCENES:
        if scene == "rehearsal" and "TPUSTARTER_LIBTPU_PYTHON" not in os.environ:
            print("no pictures of a rehearsal: TPUSTARTER_LIBTPU_PYTHON is not set")
        else:
            asyncio.run(globals()[scene]())
