"""Rehearsal in the app of the user's own functions and scripts."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checking.test_runner import until_ended
from tests.support.stub_compiler import SAMPLES
from tests.support.tutor import on_screen, press, until
from tests.tui.test_rehearse import FINE, choose, mark, rehearsing
from tpustarter.core import locations


async def test_own_program_is_offered_but_not_selected(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function found here asks once for its shapes, and a key then selects it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.py").write_text(f"import jax\n\n\n@jax.jit\n{FINE}")
    monkeypatch.chdir(tmp_path / "mine")

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        seen = await press(pilot, "a", "home")
        assert "[ ] jax.compiles" in seen
        assert "0 programs chosen" in seen
        assert "another script of mine, on the CPU " in seen
        assert "or a for all checks" in " ".join(seen.split())
        assert "[ ] model.py:fine f32[1024,1024] " in seen
        seen = await press(pilot, "enter")
        assert "Give the shapes of your own arrays" in seen
        seen = await press(pilot, *(["left"] * 6), *(["backspace"] * 4), "8", "enter")
        assert "[x] model.py:fine f32[8,1024] " in seen
        assert "r compiles your own program for 7 TPUs, one of each generation." in seen
        seen = await press(pilot, "space")
        assert "[ ] model.py:fine f32[8,1024] " in seen
        assert "Choose at least one program" in seen
        seen = await press(pilot, "space")
        assert "[x] model.py:fine f32[8,1024] " in seen  # its shapes are known by now
        await press(pilot, "e")
        assert "model.py:fine f32[8,1024]" == pilot.app.screen.query_one("#search").value


MODEL = """
import jax

def init(key):
    return {"w": jax.random.normal(key, (8, 8))}

def forward(params, x):
    return x @ params["w"]

def loss_fn(params, x, y):
    return ((forward(params, x) - y) ** 2).sum()

@jax.jit
def train_step(params, x, y):
    return jax.grad(loss_fn)(params, x, y)

def decode(cache, token):
    return cache
"""
LISTED = (
    "model.py:train_step init(u32[2]) f32[1024,1024] f32[1024,1024]",
    "model.py:init u32[2]",
    "model.py:forward init(u32[2]) f32[1024,1024]",
    "model.py:loss_fn init(u32[2]) f32[1024,1024] f32[1024,1024]",
    "model.py:decode make_cache() s32[8,1024]",
)


async def test_every_function_is_listed_with_its_arguments(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every function is listed; guessed arguments name their source."""
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "model.py"
    file.write_text(MODEL)
    monkeypatch.chdir(tmp_path / "mine")

    async with rehearsing(tmp_path, stub, "compiles", size=(120, 40)) as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        rows = pilot.app.screen.query_one("#programs")
        ids = [option.id for option in rows.options if option.id]
        assert [f"function {one}" for one in LISTED] == ids[: len(LISTED)]
        assert 3 == on_screen(pilot.app).count("params from init(u32[2])")
        await mark(pilot, f"function {LISTED[-1]}")
        await press(pilot, "enter")
        line = pilot.app.screen.query_one("#search")
        assert LISTED[-1] == line.value
        seen = await press(pilot, "enter")
        assert "has no make_cache" in " ".join(seen.split())
        await press(pilot, "escape")
        line.value = "model.py:train_step init(u32[2]) f32[4,8] f32[4,8]"
        await press(pilot, "enter", "r")
        await until(pilot, lambda: "1 of 1 compile" in on_screen(pilot.app))
        assert "params has the types that init(u32[2]) returns" in " ".join(
            on_screen(pilot.app).split()
        )


async def test_typed_function_is_compiled(tmp_path: Path, stub: Path) -> None:
    """Unreadable arguments are named and can be corrected; brackets in them are plain text."""
    (tmp_path / "mine.py").write_text(FINE)

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8", "v6e-8")
        seen = await press(pilot, "home", "enter")
        assert "Type FILE.py to see its functions" in seen
        pilot.app.screen.query_one("#search").value = f"{tmp_path}/mine.py:too_big f32[8"
        seen = await press(pilot, "enter")
        assert "--arg f32[8 cannot be read" in seen
        await press(pilot, "escape")
        pilot.app.screen.query_one("#search").value += "]"
        seen = await press(pilot, "enter")
        assert "r compiles your own program for 2 TPUs." in seen
        assert "[ ] jax.compiles" in seen

        seen = await press(pilot, "r")
        assert re.search(r"^ too_big +too big +too big", seen, re.MULTILINE)
        assert "0 of 2 compile: too big for v5e-8, v6e-8." in seen
        assert "Press c to compare the TPUs." in seen

        seen = await press(pilot, "escape", "end", "space")
        assert "[x] jax.compiles" in seen
        assert "r compiles 1 check for 2 TPUs, in about 10 s." in seen


ADDS = "def adds(a, b):\n    return a + b\n\n\ndef too_big(x):\n    return x + 1\n"
WRONG = {
    "adds f32[8] f32[3]": "mine.py:2: ",
    "adds s64[8] s64[8]": "64-bit types",
    "too_big f32[8]": "too big",
}


@pytest.mark.parametrize("typed", WRONG)
async def test_wrong_arguments_can_be_edited_from_their_error(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    """A key reopens the input with the typed text, and the next run uses the change."""
    (tmp_path / "mine.py").write_text(ADDS)
    monkeypatch.chdir(tmp_path)

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        await mark(pilot, "function")
        await press(pilot, "enter")
        pilot.app.screen.query_one("#search").value = f"mine.py:{typed}"
        await press(pilot, "enter", "r")
        await until(pilot, lambda: "Press e to change" in on_screen(pilot.app))
        assert WRONG[typed] in on_screen(pilot.app)
        assert "Once it is mended" not in on_screen(pilot.app)
        assert ("f why it failed" in on_screen(pilot.app)) == ("too_big" not in typed)
        await press(pilot, "e")
        line = pilot.app.screen.query_one("#search")
        assert f"mine.py:{typed}" == line.value
        assert line.has_focus
        line.value = "mine.py:adds f32[8] f32[8]"
        seen = await press(pilot, "enter")
        assert "[x] mine.py:adds f32[8] f32[8]" in seen
        await press(pilot, "r")
        await until(pilot, lambda: "1 of 1 compile" in on_screen(pilot.app))


@pytest.mark.parametrize("kind", ["function", "script"])
async def test_error_of_own_program_is_explained_by_key(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A mistake in the user's function or script is explained as such."""
    lines = "import jax.numpy as jnp\n\n\ndef product(a, b):\n    return jnp.dot(a, b)\n"
    call = "\n\nproduct(jnp.ones((8, 4)), jnp.ones((8, 4)))\n"
    (tmp_path / "mine.py").write_text(lines + call * (kind == "script"))
    monkeypatch.chdir(tmp_path)
    typed = "mine.py" if kind == "script" else "mine.py:product f32[8,4] f32[8,4]"

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        await mark(pilot, kind)
        await press(pilot, "enter")
        pilot.app.screen.query_one("#search").value = typed
        await press(pilot, "enter", "r")
        await until(pilot, lambda: "f why it failed" in on_screen(pilot.app))
        await press(pilot, "f")
        await until(pilot, lambda: "A product of matrices sums" in on_screen(pilot.app))
        assert "Why it failed: " in on_screen(pilot.app)
        assert "f why it failed" in await press(pilot, "escape")


JITS = "import jax\n\n\n@jax.jit\ndef step(weights, batch):\n    return batch @ weights\n\n\n"
OFFERS = {
    "train.py": ("is given without the function", "train.py:step f32[1024,1024] f32[1024,1024]"),
    "train.py:stpe": ("has no function stpe", "train.py:step f32[1024,1024] f32[1024,1024]"),
    "train.py:step f32[8,8]": ("needs the type of batch", "train.py:step f32[8,8] f32[8,8]"),
    "train.py:other f32[8] f32[8]": ("takes 1 argument by position", "train.py:other f32[8]"),
    "script.py": ("is given without the function", "script.py, as a script"),
}


@pytest.mark.parametrize("typed", OFFERS)
async def test_functions_of_file_are_offered_while_typing(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    """Enter inserts a function with its shapes, and Esc closes the suggestions."""
    (tmp_path / "train.py").write_text(f"{JITS}def other(x):\n    return x + 1\n")
    (tmp_path / "script.py").write_text("import jax\n\nprint(jax.jit(lambda x: x)(1.0))\n")
    monkeypatch.chdir(tmp_path)
    said, offer = OFFERS[typed]

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        await mark(pilot, "function")
        await press(pilot, "enter")
        pilot.app.screen.query_one("#search").value = typed
        seen = await press(pilot, "enter")
        assert said in " ".join(seen.split())
        assert offer in seen
        assert "--arg" not in seen
        assert "Enter take it" in seen
        await press(pilot, "escape")
        assert typed == pilot.app.screen.query_one("#search").value
        await press(pilot, "enter", "enter")
        assert offer.partition(",  ")[0].startswith(pilot.app.screen.query_one("#search").value)
        seen = await press(pilot, "enter")
        assert re.search("r (compiles your own program|runs your script)", seen)
        assert "Your program" not in seen


async def test_file_without_functions_is_reported_while_typing(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without functions is reported, and can be taken as a script."""
    (tmp_path / "plain.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        await mark(pilot, "function")
        await press(pilot, "enter")
        pilot.app.screen.query_one("#search").value = "plain.py"
        seen = " ".join((await press(pilot, "enter")).split())
        assert "plain.py defines no function, and has no jax.jit" in seen
        seen = await press(pilot, "escape", "escape", "down", "space")
        pilot.app.screen.query_one("#search").value = "plain.py"
        seen = " ".join((await press(pilot, "enter")).split())
        assert "It has no jax.jit of its own" in seen


async def test_script_runs_and_its_jits_are_compiled(tmp_path: Path, stub: Path) -> None:
    """The jits of a script are rows; a key shows its output and compile counts."""
    async with rehearsing(tmp_path, stub, size=(120, 40)) as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        await press(pilot, "home", "down", "space")
        pilot.app.screen.query_one("#search").value = f"{SAMPLES}/rehearsal/recompiles.py --pad"
        seen = await press(pilot, "enter")
        assert "r runs your script on CPU devices" in seen
        await press(pilot, "r")
        await until(pilot, lambda: "1 of 1 compile" in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert "Your script ran on CPU devices, and nothing on a TPU" in seen
        assert "Nothing was run" not in seen
        assert "nothing is run on a TPU" in seen.splitlines()[0]
        assert re.search(r"^[ │]+step.* ok", seen, re.MULTILINE)
        seen = await press(pilot, "o")
        assert re.search(r"step +recompiles.py:\d+: called 20 times, compiled once", seen)
        assert "trained on 20 batches" in seen
        assert "it called no function" not in seen


@pytest.mark.parametrize(
    ("kind", "typed", "said"),
    [
        ("function", "", "no file is named"),
        ("function", "'a.py", "a quotation mark is not closed"),
        ("function", "jax.compiles", "expected `FILE.py:FUNCTION`"),
        ("function", "/nowhere/a.py:f", "there is no file `/nowhere/a.py`"),
        ("script", "/nowhere/[b]a.py", "there is no file `/nowhere/[b]a.py`"),
    ],
)
async def test_invalid_file_has_its_own_error(
    tmp_path: Path, stub: Path, kind: str, typed: str, said: str
) -> None:
    """Each invalid file has its own error, and the input stays open."""
    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        await press(pilot, "home", *(["down"] if kind == "script" else []), "space")
        pilot.app.screen.query_one("#search").value = typed
        assert said.replace("`", "") in await press(pilot, "enter")
        assert "Enter choose it" in await press(pilot, "escape")


async def test_largest_batch_is_searched_by_key(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key searches for the largest batch and lists the sizes tried."""
    shutil.copy(SAMPLES / "rehearsal" / "sized.py", tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        await mark(pilot, "function")
        await press(pilot, "enter")
        line = pilot.app.screen.query_one("#search")
        line.value = "mine.py:tripled"
        await press(pilot, "enter", "r")
        await until(pilot, lambda: "1 of 1 compile" in on_screen(pilot.app))
        await press(pilot, "b")
        assert "mine.py:tripled --fit batch" == line.value
        assert "r searches the largest batch for 1 TPU" in await press(pilot, "enter")
        await press(pilot, "r")
        await until(pilot, lambda: "Largest batch that fits: 999" in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert re.search(r"^ step +999", seen, re.MULTILINE)
        assert "batch 999 fits, 1,002 doesn't" in seen
        seen = await press(pilot, "enter", "end")
        assert re.search(r" 999  ok", seen)
        assert re.search(r" 1,002  too big", seen)


async def test_stopped_search_keeps_sizes_so_far(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl+C stops a search at once and keeps the sizes compiled so far."""
    shutil.copy(SAMPLES / "rehearsal" / "sized.py", tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        await mark(pilot, "function")
        await press(pilot, "enter")
        pilot.app.screen.query_one("#search").value = "mine.py:waits --fit batch"
        await press(pilot, "enter")
        await pilot.press("r")
        trying = re.compile(r"step, batch (9\d\d|1,\d+) for v5e-8, \d+ s, \d+ sizes tried")
        await until(pilot, lambda: bool(trying.search(on_screen(pilot.app))))
        assert "x stop" in on_screen(pilot.app)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "that fits: 512 so far on v5e-8" in on_screen(pilot.app))
        seen = " ".join(on_screen(pilot.app).split())
        assert "batch 512 is the largest so far that fits" in seen
        assert "Press r to go on" in seen
        until_ended(str(locations.make_state_folder()))
