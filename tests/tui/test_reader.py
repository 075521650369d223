"""The lesson reader: marked blocks, blocks that run first, edits and search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.gates import wait_for
from tests.support.machines import lay_out
from tests.support.made_lessons import fence, make_lesson
from tests.support.stubs import make_python
from tests.support.tutor import (
    HELLO,
    named_keys,
    on_screen,
    press,
    settle,
    tutor,
    until,
    write_checks,
)
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.run.lesson_process import LessonSession
from tpustarter.tui.app.device_use import IDLE_S, OPEN_S, LessonSessionOwner
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.kit.page import Sheet
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.text_layout import HangingText
from tpustarter.tui.lesson import lesson_keys
from tpustarter.tui.lesson.available_actions import EnterAction
from tpustarter.tui.lesson.page.lesson_widgets import KeyHint
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.setup.environment_screen import EnvironmentSetupScreen

TEXT = "\n\n".join(f"Paragraph {number} of this lesson." for number in range(40))
FAR = f"""# Far

{fence("print('first')", name="one")}
{TEXT}

{fence("print('second')", name="two")}
{TEXT}
"""


def _current(pilot: Pilot[None]) -> list[str]:
    return [one.block.id for one in pilot.app.screen._page.views if one.has_class("-current")]


def _heading(pilot: Pilot[None]) -> str:
    return on_screen(pilot.app).splitlines()[0]  # type: ignore[arg-type]


async def test_reading_progress_counts_after_page_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress is not counted while the page is being filled."""
    told: list[str] = []
    show_status = LessonRunScreen.show_status

    def show(screen: LessonRunScreen, text: str) -> None:
        told.append(text)
        show_status(screen, text)

    monkeypatch.setattr(LessonRunScreen, "show_status", show)
    blocks = "\n\n".join(fence(f"print({n})", name=f"n{n}") + f"\n\n{TEXT}" for n in range(8))

    async with tutor(tmp_path, lessons={"far": f"# Far\n\n{blocks}"}) as pilot:
        seen = await press(pilot, "enter")
        assert re.search(r"\d+ % read", seen)
    assert "100 % read" not in told
    assert told


async def test_possible_tpu_holder_ends_by_single_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`t` ends a process that may hold the TPU without a question."""
    monkeypatch.setattr(LessonSessionOwner, "owns_accelerator", property(lambda _: True))

    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "enter", "r")
        seen = await press(pilot, "t")
        assert "End the process?" not in seen
        assert "Its variables went with the process." in seen


def test_every_enter_action_has_label() -> None:
    """Every action of Enter has a label for the key line."""
    assert {*EnterAction} == lesson_keys.ENTER.keys()


async def test_blocks_above_rerun_after_process_end(tmp_path: Path) -> None:
    """After `t` the next block runs the blocks above it again first."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "enter", "r")
        seen = await press(pilot, "t")
        assert "End the process?" in seen  # it may be a letter that was meant for an editor
        assert "End the process?" in await press(pilot, "t")  # once more answers nothing
        seen = await press(pilot, "n")
        assert "Its variables went" not in seen
        assert "End the process?" in await press(pilot, "question_mark", "t")
        await press(pilot, "n", "escape")
        seen = await press(pilot, "t", "y")
        assert "pass" in seen
        assert "Its variables went with the process." in seen
        seen = await press(pilot, "tab", "r")
        assert "again you" in seen
        assert "went with the process" not in seen
        assert "NameError" not in seen


async def test_earlier_blocks_run_first_and_are_announced(tmp_path: Path) -> None:
    """Blocks above run first with their edits, and the requested block says that it waits."""
    goes_on = tmp_path / "goes-on"
    lesson = HELLO.replace('name = "you"', f'{wait_for(goes_on)}name = "you"')

    async with tutor(tmp_path, lessons={"hello": lesson}, size=(80, 40)) as pilot:
        await press(pilot, "enter", "e", *"name='me'", "escape", "tab")
        await pilot.press("r")
        await until(pilot, lambda: "1 block above runs first" in on_screen(pilot.app))
        goes_on.touch()
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert "hello you" in seen
        assert "again me" in seen


async def test_failing_earlier_block_stops_run(tmp_path: Path) -> None:
    """The block below a failed one is not run, and names the block that has to work first."""
    lesson = HELLO.replace('name = "you"', "name = 1 / 0")

    async with tutor(tmp_path, lessons={"hello": lesson}, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter", "tab", "r")
        assert "ERROR" in seen
        assert "NOT RUN  block 1 above has to work first" in seen


@pytest.mark.parametrize(
    ("generation", "needs", "expected"),
    [
        (None, "{framework: jax}", OPEN_S),
        (None, "{}", OPEN_S),
        ("v5e", "{}", IDLE_S),
        ("v5e", "{framework: jax}", IDLE_S),
    ],
)
def test_idle_limit_is_short_for_process_on_tpu(
    generation: str | None, needs: str, expected: float, tmp_path: Path
) -> None:
    """Beside a TPU the idle limit is a minute; otherwise it lasts while the lesson is open."""
    (tmp_path / "root").mkdir()
    make_python(tmp_path / "venv", jax="0.10.2", libtpu="0.0.42", kind="TPU v5 lite", count=8)
    variables = {"VIRTUAL_ENV": str(tmp_path / "venv")}
    chips = 8 if generation else 0
    machine = lay_out(tmp_path / "root", generation, chips=chips, env=variables)
    live = LessonSessionOwner(lambda _: None)
    live.session = LessonSession(make_lesson(tmp_path, "text", needs=needs), machine=machine)

    assert expected == live.idle_s


async def test_next_lesson_matches_home(tmp_path: Path) -> None:
    """With no path chosen, the lesson and Home follow the path that suits the machine."""
    lessons = {"hello": HELLO, "second": "# Second\n", "third": "# Third\n"}
    order = "- id: laptop\n  title: T\n  who: W.\n  lessons: [start/hello, start/third]\n"

    async with tutor(tmp_path, lessons=lessons) as pilot:
        (tmp_path / "lessons/paths.yml").write_text(order)
        assert "0 of 2 lessons, 4 min" in await press(pilot, "l", "escape")
        await press(pilot, "enter", "n")
        assert "Third" in _heading(pilot)


async def test_keys_without_visible_block_use_last_block(tmp_path: Path) -> None:
    """Far from any block, `r` goes to the next one; later it runs the last one used."""
    async with tutor(tmp_path, lessons={"far": FAR}) as pilot:
        await press(pilot, "enter", "space", "space")
        seen = await press(pilot, "r")
        assert "print('second')" in seen
        assert not pilot.app.live.is_warm
        assert _current(pilot) == ["two"]
        await press(pilot, "space", "space", "r")
        one, two = pilot.app.screen._page.views
        assert one.state.result is not None  # it stands above, and runs first
        assert two.state.result is not None


async def test_tab_marks_next_block(tmp_path: Path) -> None:
    """Tab moves to the next block, and marks the block in sight."""
    async with tutor(tmp_path, lessons={"far": FAR}) as pilot:
        await press(pilot, "enter")
        assert _current(pilot) == ["one"]
        for key, expected in (
            ("tab", "two"),
            ("shift+tab", "one"),
            ("tab", "two"),
            ("k", "one"),
            ("tab", "two"),
        ):
            await press(pilot, key)
            assert _current(pilot) == [expected]
            focused = pilot.app.screen.focused
            assert pilot.app.screen._page.region.overlaps(focused.region)
        assert "This is the last block." in await press(pilot, "tab")
        assert _current(pilot) == ["two"]
        assert "This is the first block." in await press(pilot, "shift+tab", "shift+tab")
        assert _current(pilot) == ["one"]


async def test_next_frame_has_new_place_and_mark(tmp_path: Path) -> None:
    """Place and mark change before painting, so one frame shows both."""
    async with tutor(tmp_path, lessons={"far": FAR}) as pilot:
        await press(pilot, "enter")
        screen = pilot.app.screen
        screen.action_choose(1)  # and no event of Textual is handled meanwhile
        two = screen._page.views[1]
        assert screen._page.marked_block is two
        assert two.has_class("-current")
        assert screen._page.region.overlaps(two.region)
        assert two in screen._compositor.visible_widgets


async def test_result_of_block_scrolls_into_sight(tmp_path: Path) -> None:
    """The end of a block's output scrolls into sight."""
    code = fence("for n in range(8):\n    print('line', n)")
    text = "\n\n".join(["# T", *(f"Paragraph {n}." for n in range(7)), code, TEXT])

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        assert "for n in range(8)" in await press(pilot, "enter", "r")
        # It scrolls once what was printed has been laid out.
        await until(pilot, lambda: "line 7" in on_screen(pilot.app))


async def test_expected_output_is_distinguishable_from_real_output(tmp_path: Path) -> None:
    """Expected output has a dotted edge before the run; after it only other platforms' stays."""
    text = fence("print('devices')\nprint('cpu')", "devices\ncpu")
    text += "\n\n```output of=one on=tpu\ndevices\ntpu\n```\n"

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{text}"}, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter")
        assert "┊ expected when it runs:" in seen
        assert "┊ cpu" in seen
        assert "┊ expected when it runs on a TPU, where that differs:" in seen
        assert 1 == seen.count("┊ devices")
        seen = await press(pilot, "r")
        assert "┊ cpu" not in seen
        assert "┊ expected on a TPU, where that differs:" in seen
        assert "┊ tpu" in seen
        assert "┊ devices" not in seen


async def test_failed_block_omits_output_of_other_devices(tmp_path: Path) -> None:
    """A failed block on a CPU does not show the output expected on a TPU."""
    text = fence("1 / 0", "never").replace("output of=one", "output of=one on=tpu")

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{text}"}) as pilot:
        assert "expected when it runs on a TPU" in await press(pilot, "enter")
        seen = await press(pilot, "r")
        assert "ZeroDivisionError" in seen
        assert "on a TPU:" not in seen


@pytest.mark.parametrize(
    ("printed", "wanted", "shown"),
    [
        (["one"], ["two"], ["printed   one", "expected  two"]),
        (
            ["one", "two"],
            ["one", "three"],
            [
                "Only line 2 of the output differs:",
                "printed   two",
                "expected  three",
                "printed",
                "one",
                "two",
            ],
        ),
        (
            ["one", "two"],
            ["one"],
            [
                "Only line 2 of the output differs:",
                "printed   two",
                "expected  no further line",
                "printed",
                "one",
                "two",
            ],
        ),
        (
            ["one", "two"],
            ["three", "four"],
            [
                "Line 1 of the output is the first that differs.",
                "printed",
                "one",
                "two",
                "┊ expected:",
                "┊ three",
                "┊ four",
            ],
        ),
    ],
)
async def test_wrong_output_is_compared_once(
    printed: list[str], wanted: list[str], shown: list[str], tmp_path: Path
) -> None:
    """One differing line is compared; for several both outputs are shown in full."""
    code = "\n".join(f'print("{line}")' for line in printed)
    lesson = "# T\n\n" + fence(code, "\n".join(wanted))

    async with tutor(tmp_path, lessons={"t": lesson}, size=(80, 40)) as pilot:
        lines = (await press(pilot, "enter", "r")).splitlines()
        lines = [line.strip(" ┃━─") for line in lines]
        place = next(number for number, line in enumerate(lines) if line.startswith("FAIL"))
        assert shown == lines[place + 1 : place + 1 + len(shown)]
        assert lines[place + 1 + len(shown)].startswith("┗")
        assert not lesson_progress.is_lesson_done("start/t")


async def test_unrunnable_block_shows_output_and_remedy(tmp_path: Path) -> None:
    """A block whose library is missing shows its expected output and how to install it."""
    async with tutor(tmp_path, lessons={"t": HELLO}, size=(80, 40)) as pilot:
        file = tmp_path / "lessons" / "start" / "0001-t.md"
        file.write_text(file.read_text().replace("needs: {}", 'needs: {torch_xla: "2.9"}'))
        seen = await press(pilot, "enter", "r")
        assert "─ skip ─" in seen
        assert "torch_xla is not installed in" in seen
        assert "tpustarter setup pytorch-xla" in " ".join(seen.split())
        assert "┊ hello you" in seen


async def test_lesson_without_framework_offers_setup_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set-up comes first in the key line and at the end until it is done."""
    monkeypatch.chdir(tmp_path)

    async with tutor(tmp_path, lessons={"t": HELLO}, size=(80, 40)) as pilot:
        file = tmp_path / "lessons" / "start" / "0001-t.md"
        file.write_text(file.read_text().replace("needs: {}", 'needs: {torch_xla: "2.9"}'))
        await press(pilot, "enter")
        screen = pilot.app.screen
        assert isinstance(screen, LessonRunScreen)
        assert screen._page.needed_setup
        assert "pytorch-xla" == screen._page.needed_setup.profile.name
        await press(pilot, "end")
        await press(pilot, "s")
        assert isinstance(pilot.app.screen, EnvironmentSetupScreen)
        await press(pilot, "escape")
        make_python(tmp_path / ".venv", torch="2.9.0", torch_xla="2.9.0")
        screen._page.update_end_panel()
        (hint,) = [one for one in screen.query(KeyHint) if one.is_setup_offer]
        await until(pilot, lambda: not (screen._page.needed_setup or hint.display))


async def test_missing_package_is_named_until_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package is named with its install command at the beginning and at the end."""
    monkeypatch.chdir(tmp_path)
    make_python(tmp_path / ".venv", jax="0.10.2")

    async with tutor(tmp_path, lessons={"t": HELLO}, size=(80, 40)) as pilot:
        file = tmp_path / "lessons" / "start" / "0001-t.md"
        needs = "needs: {framework: jax, packages: [optax]}"
        file.write_text(file.read_text().replace("needs: {}", needs))
        await press(pilot, "enter")
        screen = pilot.app.screen
        assert isinstance(screen, LessonRunScreen)
        assert screen._page.needed_setup is None
        seen = " ".join((await press(pilot, "end")).split())
        assert 2 == seen.count("because optax is not installed in")
        (next(tmp_path.glob(".venv/lib/*/site-packages")) / "optax-0.2.6.dist-info").mkdir()
        screen._page.update_end_panel()
        hints = [one for one in screen.query(KeyHint) if one.is_setup_offer]
        await until(pilot, lambda: not hints[0].display)


HINTED = """# Sum

```python try id=turn
print(1)  # change this line
```

```output of=turn
2
```

<details><summary>Hint</summary>

It is one more.

</details>

<details><summary>Answer</summary>

```python answer of=turn
print(2)
```

</details>
"""


async def test_hint_opens_before_answer(tmp_path: Path) -> None:
    """`o` opens the hint, and then the answer."""
    async with tutor(tmp_path, lessons={"t": HINTED}, size=(80, 40)) as pilot:
        await press(pilot, "enter")
        [view] = pilot.app.screen._page.views
        opened: list[list[str]] = []
        for _ in range(2):
            await press(pilot, "o")
            opened.append([one.summary for one in view.help_folds if not one.collapsed])
        assert [["Hint"], ["Hint", "Answer"]] == opened


async def test_home_reports_jax_without_tpu(tmp_path: Path) -> None:
    """Home says that JAX lacks libtpu on a machine with TPU chips."""
    (tmp_path / "root").mkdir()
    make_python(tmp_path / "venv", jax="0.10.2")
    variables = {"VIRTUAL_ENV": str(tmp_path / "venv")}
    machine = lay_out(tmp_path / "root", "v5e", chips=8, env=variables)

    async with tutor(tmp_path, machine=machine) as pilot:
        seen = on_screen(pilot.app)
        assert "  TPU      v5e, 8 chips, 8 devices" in seen
        assert "  JAX      0.10.2, without libtpu, so it cannot reach the TPU" in seen


async def test_edits_are_kept_while_app_runs(tmp_path: Path) -> None:
    """Edits are kept when a lesson is left; `u` restores the lesson's code."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"# mine", "escape", "escape")
        seen = await press(pilot, "enter")
        assert "# mine" in seen
        assert "edited, not run yet" in seen
        seen = await press(pilot, "u")
        assert "# mine" not in seen
        await press(pilot, "escape")
        assert "# mine" not in await press(pilot, "enter")


async def test_undo_needs_changed_code(tmp_path: Path) -> None:
    """Undo is offered only for changed code, which does not show the old result."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter", "e", "escape")
        assert "u undo edit" not in seen
        seen = await press(pilot, "r")
        assert re.search(r"pass  \d", seen)
        await press(pilot, "e", *"#", "escape")
        seen = on_screen(pilot.app)
        assert "u undo edit" in seen
        assert not re.search(r"pass  \d", seen)
        seen = await press(pilot, "u")
        assert re.search(r"pass  \d", seen)
        assert "u redo edit" in seen


async def test_undone_code_can_be_restored(tmp_path: Path) -> None:
    """A second `u` restores the undone code, unless other code was typed since."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "enter", "e", *"# mine", "escape")
        assert "# mine" not in await press(pilot, "u")
        seen = await press(pilot, "u")
        assert "# mine" in seen
        assert "u undo edit" in seen
        seen = await press(pilot, "u", "e", *"# other", "escape")
        assert "redo" not in seen
        assert "# mine" not in seen


async def test_editor_cursor_starts_at_end(tmp_path: Path) -> None:
    """The cursor of the editor starts at the end."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"a")
        text = pilot.app.screen.query_one("CodeEditor").text
        assert text == 'name = "you"\nprint("hello", name)\na'
        await press(pilot, "ctrl+home", *"b", "ctrl+end", *"c")
        text = pilot.app.screen.query_one("CodeEditor").text
        assert text == 'bname = "you"\nprint("hello", name)\nac'


async def test_key_hint_is_below_try_heading(tmp_path: Path) -> None:
    """The hint below a `Try it` heading names working keys; without blocks there is none."""
    text = HELLO + "\n## Try it\n\nSay bye.\n"
    lessons = {"hello": text, "other": "# Other\n\n## Try it\n\nThink.\n"}

    async with tutor(tmp_path, lessons=lessons, size=(80, 50)) as pilot:
        seen = await press(pilot, "enter")
        lines = [line.strip() for line in seen.splitlines() if line.strip()]
        place = lines.index("Try it")
        assert lines[place + 1 : place + 3] == [
            "Press Tab to mark a block, e to change it, and Ctrl+R to run it.",
            "Say bye.",
        ]
        seen = await press(pilot, "n")
        assert "Try it" in seen
        assert "Tab to mark a block" not in seen


async def test_heading_fits_machine_and_process_in_line(tmp_path: Path) -> None:
    """At 80 columns the heading has both the machine and the process."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "r")
        found = r"Hello  2 min +no TPU: 8 virtual CPU devices, code: pid \d+$"
        assert re.search(found, _heading(pilot))


async def test_short_command_is_not_broken(tmp_path: Path) -> None:
    """A short command moves to the next line as a whole, painted with ordinary spaces."""
    words = "word " * 13
    text = f"# T\n\n{words}then `ps -fp PID` tells.\n\n* {words}now `ls -la DIR` tells.\n"

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        seen = await press(pilot, "enter")
        assert "ps -fp PID" in seen
        assert "ls -la DIR" in seen


async def test_search_hit_opens_lesson_at_its_line(tmp_path: Path) -> None:
    """Titles come first, Markdown marks are left out, and Enter opens the line."""
    marked = f"# Far\n\n{TEXT}\n\n* a **quick** `brown` [fox](https://example.com/fox)\n\n{TEXT}\n"
    lessons = {"far": marked, "fox": "# T\n\nNothing.\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        seen = await press(pilot, "slash", *"fox")
        assert "2 of 2" in seen
        assert "Down to the list" in seen
        assert "q quit" not in seen  # it would be typed
        assert seen.index("Fox") < seen.index("Far")
        assert "  a quick brown fox\n" in seen
        await press(pilot, "down", "down", "enter")
        assert "Far" in _heading(pilot)
        assert "quick" in on_screen(pilot.app)
        await press(pilot, "escape", "down", "enter")
        assert "quick" in on_screen(pilot.app)


async def test_glossary_word_comes_before_lesson_lines(tmp_path: Path) -> None:
    """The meaning of a glossary word comes before the lessons that use it."""
    async with tutor(tmp_path) as pilot:
        seen = await press(pilot, "slash", *"word")
        assert "1 of 2" in seen
        assert seen.index("What is said at once.") < seen.index("A first lesson")


async def test_long_list_shows_last_line_of_rows(tmp_path: Path) -> None:
    """The last row of a scrolled list is not covered by the scroll bar."""
    async with tutor(tmp_path) as pilot:
        rows = pilot.app.screen.query_one(RowList)
        widths = range(69, 76)
        texts = [f"{'x' * width} e{width}" for width in widths]
        rows.show([Row(str(n), HangingText("", one)) for n, one in enumerate(texts + texts * 5)])
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert [width for width in widths if f"e{width}" not in seen] == []


async def test_search_finds_words_of_glossary(tmp_path: Path) -> None:
    """A search finds the text of the glossary, and Enter shows the entry."""
    async with tutor(tmp_path) as pilot:
        seen = await press(pilot, "slash", *"said at once")
        assert "0 of 2" in seen
        assert "Glossary" in seen
        seen = await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, Sheet)
        assert "What is said at once." in seen
        assert "╭─ word ─" in on_screen(pilot.app)


async def test_check_returns_to_lesson_left_open(tmp_path: Path) -> None:
    """`o` returns to the open lesson with its results, without a second copy."""
    write_checks(tmp_path / "checks", "passes")
    check = tmp_path / "checks/host/passes.py"
    named = re.sub(r'LESSON = ".*"', 'LESSON = "start/hello"', check.read_text())

    async with tutor(tmp_path, checks=("passes",)) as pilot:
        check.write_text(named)
        await press(pilot, "enter", "r")
        before = pilot.app.screen
        seen = await press(pilot, "c", "g")
        assert "This check wrote nothing." in seen
        await press(pilot, "o")
        assert pilot.app.screen is before
        assert isinstance(before, LessonRunScreen)
        assert "hello you" in on_screen(pilot.app)


async def test_check_that_needs_setup_offers_key(tmp_path: Path) -> None:
    """`s` is offered only if set-up would fix the check."""
    text = '''"""A claim."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/hello"
SOURCE = "https://example.com/"

from tpustarter.probe.finding import Hint, compare


def run():
    yield compare("SAMPLE-SUM", "sum", 2, 3, hint=Hint.set_up("keras"))
'''

    async with tutor(tmp_path, checks=("passes",)) as pilot:
        seen = await press(pilot, "c")
        assert "s set up" not in seen
        await press(pilot, "escape")
        (tmp_path / "checks/host/asks.py").write_text(text)
        seen = await press(pilot, "c")
        assert isinstance(pilot.app.screen, ChecksScreen)
        assert "s set up" in seen
        plan = await press(pilot, "s")
        assert isinstance(pilot.app.screen, EnvironmentSetupScreen)
        assert "Keras" in plan


def test_uncomposed_screen_answers_available_actions() -> None:
    """A screen answers for its actions before it is composed, as the footer may ask."""
    reader = LessonRunScreen("hello")

    assert reader.check_action("copy_text", ())
    assert not reader.check_action("run", ())


async def test_each_line_of_hint_is_shown_as_line(tmp_path: Path) -> None:
    """Each line of a hint is a line of its own."""
    async with tutor(tmp_path, lessons={"far": FAR}) as pilot:
        file = next((tmp_path / "lessons" / "start").glob("*-far.md"))
        file.write_text(file.read_text().replace("minutes: 2", "minutes: 2\ncode: [a.py]"))
        seen = await press(pilot, "enter")
        named = [line.strip() for line in seen.splitlines() if "a.py" in line]
        assert (2, "tpustarter learn start/far --code a.py") == (len(named), named[-1])


async def test_setup_that_lesson_explains_comes_after_enter(tmp_path: Path) -> None:
    """The key of the lesson's set-up is listed after Enter."""
    async with tutor(tmp_path, lessons={"far": FAR}) as pilot:
        file = next((tmp_path / "lessons" / "start").glob("*-far.md"))
        file.write_text(file.read_text().replace("minutes: 2", "minutes: 2\nsetups: {jax: {}}"))
        await press(pilot, "enter")
        keys = [one.split()[0] for one in named_keys(pilot.app) if one]  # type: ignore[arg-type]
        assert keys.index("Enter") < keys.index("s")
