"""A user's own error explained in the app: pasted, typed, or named as a log."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.support.tutor import on_screen, press, settle, tutor, until
from tpustarter.tui.explain.failed_run import PASTED, is_log_path, read_failure
from tpustarter.tui.explain.input_screen import ExplainInput
from tpustarter.tui.explain.screen import ExplanationScreen
from tpustarter.tui.home.screen import HomeScreen

HELD = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in <module>\n'
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by "
    "process with pid 4242. Not attempting to load libtpu.so in this process.\n"
)
CAUSE = "already in use"
OOM = (
    "Traceback (most recent call last):\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. "
    "Ran out of memory in memory space hbm. Used 21.32G of 15.75G hbm. Exceeded hbm capacity by "
    "5.57G.\n"
)


async def _paste(pilot: Pilot[None], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await settle(pilot)


async def _explained(pilot: Pilot[None]) -> str:
    """Return the screen once the explanation is complete."""
    await until(pilot, lambda: isinstance(pilot.app.screen, ExplanationScreen))
    await until(pilot, lambda: "searching what" not in on_screen(pilot.app))
    return on_screen(pilot.app)


async def test_pasted_error_is_explained_at_once(tmp_path: Path) -> None:
    """A pasted error is explained, and Esc returns to the text to change it."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        seen = await press(pilot, "f")
        assert "Paste what your program wrote" in seen
        assert "Ctrl+R explain  Esc back" in seen
        await _paste(pilot, HELD)
        seen = await _explained(pilot)
        assert "What your error means" in seen
        assert "4242" in seen
        assert CAUSE in seen
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ExplainInput)
        assert HELD == pilot.app.screen.query_one(TextArea).text
        await press(pilot, "ctrl+r")
        assert CAUSE in await _explained(pilot)


async def test_second_error_replaces_first(tmp_path: Path) -> None:
    """A pasted error replaces the previous text, so only the new one is explained."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "f")
        await _paste(pilot, HELD)
        assert CAUSE in await _explained(pilot)
        assert "what you paste now replaces it" in await press(pilot, "escape")
        await _paste(pilot, "Traceback:\nKeyError: 'w'\n")
        assert CAUSE not in await _explained(pilot)
        await press(pilot, "escape", "x")
        assert "what you paste" not in on_screen(pilot.app)
        await _paste(pilot, HELD)
        await _explained(pilot)
        text = pilot.app.screen_stack[-2].query_one(TextArea).text
        assert "KeyError" in text  # what was changed is not thrown away
        assert HELD.strip() in text


@pytest.mark.parametrize("keys", [[], ["slash"], ["l"], ["c"]], ids=["home", "search", "l", "c"])
async def test_error_can_be_pasted_on_any_screen(keys: list[str], tmp_path: Path) -> None:
    """A multi-line error pasted on any screen is explained, also in a search."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, *keys)
        await _paste(pilot, HELD)
        assert CAUSE in await _explained(pilot)


async def test_text_pasted_into_code_is_code(tmp_path: Path) -> None:
    """Text pasted into an editor is code and is not explained."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", "ctrl+end")
        await _paste(pilot, "first = 1\nsecond = 2\n")
        assert "second = 2" in pilot.app.screen.query_one(TextArea).text
        assert not isinstance(pilot.app.screen, ExplanationScreen)


async def test_single_line_error_is_explained_outside_input(tmp_path: Path) -> None:
    """A single line pasted outside an input is explained, since many lack a traceback."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        for keys in ((), ("escape", "f")):
            await press(pilot, *keys)
            await _paste(pilot, OOM.splitlines()[-1])
            assert "more HBM than the chip has" in await _explained(pilot)


async def test_pasted_word_is_not_explained(tmp_path: Path) -> None:
    """A pasted word does nothing on Home, and is searched for in a search."""
    async with tutor(tmp_path) as pilot:
        await _paste(pilot, "sleep")
        assert isinstance(pilot.app.screen, HomeScreen)
        await press(pilot, "slash")
        await _paste(pilot, "sleep\n")
        await until(pilot, lambda: "time.sleep" in on_screen(pilot.app))


async def test_log_is_explained_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter explains the log at a typed path, also in the input of a search."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "train.log").write_text(HELD)

    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "f", *"~/train.log", "enter")
        seen = await _explained(pilot)
        assert "What train.log means" in seen
        assert CAUSE in seen
        await press(pilot, "escape", "escape", "slash", *"~/train.log")
        await until(pilot, lambda: "Explain the error in train.log" in on_screen(pilot.app))
        await press(pilot, "enter")
        assert CAUSE in await _explained(pilot)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "Paste an error first"),
        ("~/trian.log", "cannot be read: No such file or directory. Did you mean"),
        ("../trian.log", "Did you mean ../train.log?"),
        ("../train.logg", "Did you mean ../train.log?"),
        ("train.lgo", "cannot be read: No such file or directory"),
        ("logs/run-3", "cannot be read: No such file or directory"),
        ("/nowhere/train.log", "cannot be read: No such file or directory"),
        ("/dev/zero", "is no file"),
        ("~/folder.log", "cannot be read: Is a directory"),
    ],
)
async def test_unexplainable_input_is_reported_below_text(
    typed: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Input that cannot be explained gets a message below it, and stays."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "train.log").write_text(HELD)
    (tmp_path / "folder.log").mkdir()
    monkeypatch.chdir(tmp_path / "folder.log")

    async with tutor(tmp_path, size=(120, 40)) as pilot:
        key = "enter" if typed else "ctrl+r"  # a line of it cannot go on below
        seen = await press(pilot, "f", *typed, key)
        assert said in " ".join(seen.split())
        assert isinstance(pilot.app.screen, ExplainInput)


@pytest.mark.parametrize(
    "word", ["jax.errors.UnexpectedTracerError", "logging.error", "np.log10", "sys.exit", "Killed"]
)
def test_word_that_is_no_path_is_error_text(word: str) -> None:
    """A word with a dot that is no file is taken as an error text."""
    assert not is_log_path(word)
    assert PASTED == read_failure(word).kind


async def test_unknown_error_gets_suggestions(tmp_path: Path) -> None:
    """Text that matches no known failure is answered with a message, not with an error."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "f", *"it does not work", "ctrl+r")
        assert "No known failure of a TPU matches." in await _explained(pilot)


async def test_mistake_in_own_program_is_explained(tmp_path: Path) -> None:
    """A mistake in the user's program is explained as on the command line."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "f")
        await _paste(
            pilot,
            "a\nTracerBoolConversionError: Attempted boolean conversion of "
            "traced array with shape bool[].",
        )
        assert "No known failure" not in await _explained(pilot)


async def test_line_with_two_signs_is_quoted_once(tmp_path: Path) -> None:
    """A line that matches two patterns is quoted once."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "f")
        await _paste(pilot, OOM)
        assert 1 == (await _explained(pilot)).count("line 2")
