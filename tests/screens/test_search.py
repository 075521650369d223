"""Search beside lessons: claims of older tutorials, and the answers of today."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support.tutor import (
    HELLO,
    driven,
    named_keys,
    on_screen,
    press,
    settle,
    tutor,
    until,
)
from tpustarter.learning.progress import lesson_progress
from tpustarter.text import invocation
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.exercise.screen import ExerciseScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit import text_layout
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.library.lesson_rows import ExcerptLine, mark_terms
from tpustarter.tui.library.screen import LessonListScreen, TutorialClaimSheet

CLAIMS = """- id: 000-01
  then: "`jnp.gone` is *fast*, [bold]really[/bold]"
  status: changed
  now: Call `jnp.here` instead.
  lesson: start/hello#hello
  proof: start/hello#again
  source: https://example.com/gone
- id: 000-02
  then: nothing of the kind
  status: gone
  now: It went with jnp.gone.
  lesson: null
  proof: null
  source: https://example.com/second
"""


def write_claims(folder: Path, text: str = CLAIMS) -> None:
    """Write claims where the sample lessons will be."""
    (folder / "lessons").mkdir()
    (folder / "lessons/then-now.yml").write_text(text)


async def _wait_for(pilot: Pilot[None], *texts: str) -> str:
    """Wait until all texts are painted, and return the screen."""
    await until(pilot, lambda: all(one in on_screen(pilot.app) for one in texts))
    return on_screen(pilot.app)  # type: ignore[arg-type]


async def test_search_finds_claims_of_older_tutorials(tmp_path: Path) -> None:
    """Claims are listed last with their id, and match words of either side in any order."""
    write_claims(tmp_path)

    async with tutor(tmp_path, size=(80, 30)) as pilot:
        await press(pilot, "slash", *"gone jnp")
        seen = await _wait_for(pilot, "Older tutorials\n", "  000-01  then: jnp.gone is fast")
        assert "0 of 2" in seen
        assert "[bold]really[/bold]" in seen
        assert seen.index("000-01") < seen.index("000-02")
        pilot.app.screen.query_one("#search", Input).value = "is"
        seen = await _wait_for(pilot, "1 of 2", "Glossary", "Older tutorials")
        assert seen.index("Lessons\n") < seen.index("Glossary") < seen.index("Older tutorials")


@pytest.mark.parametrize(("downs", "read"), [(0, True), (1, False)])
async def test_enter_shows_claim_with_lesson_and_source(
    downs: int, read: bool, tmp_path: Path
) -> None:
    """A claim is shown with its lesson, if any, and source; Esc returns to the results."""
    write_claims(tmp_path)

    async with tutor(tmp_path) as pilot:
        await press(pilot, "slash", *"jnp.gone", "down", *["down"] * downs, "enter")
        number = downs + 1
        address = ("gone", "second")[downs]
        seen = await _wait_for(pilot, f"Source: https://example.com/{address}")
        assert isinstance(pilot.app.screen, TutorialClaimSheet)
        status = ("Done in another way today", "Gone today")[downs]
        assert f"─ {status} (no. 000-0{number} of lessons/then-now.yml) ─" in seen
        seen = re.sub(" *│", "", seen)
        assert re.search(r"Then: .*\n\n.*Now: ", seen)
        for told in ("Lesson: start/hello\n", "Shown by: start/hello#again\n", "o open lesson"):
            assert read == (told in seen), told
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, LessonListScreen)


async def test_key_opens_lesson_of_claim(tmp_path: Path) -> None:
    """`o` opens the lesson of a claim, and Esc returns to the results."""
    write_claims(tmp_path)

    async with tutor(tmp_path) as pilot:
        await press(pilot, "slash", *"jnp.gone", "down", "enter")
        await _wait_for(pilot, "o open lesson")
        await press(pilot, "o")
        await _wait_for(pilot, "Hello  2 min", "A first lesson")
        assert isinstance(pilot.app.screen, LessonRunScreen)
        await press(pilot, "escape")
        await _wait_for(pilot, "Older tutorials\n")


async def test_exact_id_comes_first(tmp_path: Path) -> None:
    """An id comes first, so Enter runs that check or opens that lesson."""
    naming = HELLO + "\nRun `tpustarter check host.passes`, after start/hello.\n"

    lessons = {"other": naming, "hello": naming}
    async with tutor(tmp_path, lessons=lessons, checks=("passes",)) as pilot:
        await press(pilot, "slash", *"host.passes")
        seen = await _wait_for(pilot, "Checks\n", "Lessons\n")
        assert seen.index("Checks\n") < seen.index("Lessons\n")
        pilot.app.screen.query_one("#search", Input).value = "start/hello"
        seen = await _wait_for(pilot, "Found for start/hello")
        assert "start/hello" == pilot.app.screen.query_one(RowList).get_option_at_index(1).id


async def test_unreadable_claims_show_message_in_results(tmp_path: Path) -> None:
    """The error names the file, and the app continues."""
    write_claims(tmp_path, "- 3\n")

    async with tutor(tmp_path, size=(200, 24)) as pilot:
        seen = await press(pilot, "l")
        assert "cannot read the claims in" in seen
        assert "This machine" in await press(pilot, "escape")


async def test_search_without_claims_has_no_claims_group(tmp_path: Path) -> None:
    """A search without matches says so, and shows no group of claims."""
    async with tutor(tmp_path) as pilot:
        seen = await press(pilot, "slash", *"jnp.gone")
        assert "Nothing here is about “jnp.gone”." in seen
        assert "Try fewer words" in seen
        assert not re.search(r"\d of \d", seen.splitlines()[-1])
        assert "Older tutorials" not in seen


async def test_matches_are_marked_and_synonyms_named(tmp_path: Path) -> None:
    """Matches are marked, synonyms named, and a check can be run from the results."""
    lesson = "# Full\n\nIt ran **out of memory** in `HBM`.\n"

    async with tutor(tmp_path, lessons={"full": lesson, "hello": HELLO}) as pilot:
        (tmp_path / "lessons/synonyms.yml").write_text("oom: [out of memory, HBM]\n")
        seen = await press(pilot, "slash", *"oom")
        assert "Also looked for: out of memory, HBM" in seen
        assert " It ran out of memory in HBM." in seen
        assert "─ Full ─" in seen
        marked = _marked(pilot)
        assert ["out of memory", "HBM"] == marked[:2]
        pilot.app.screen.query_one("#search", Input).value = "word"
        seen = await _wait_for(pilot, "Glossary", "Lessons\n")
        assert seen.index("Glossary") < seen.index("Lessons\n")
        pilot.app.screen.query_one("#search", Input).value = "host.fails"
        assert "host.fails" in await _wait_for(pilot, "Checks")
        assert "Check host.fails" in await press(pilot, "down", "enter")


async def test_enter_searches_for_suggested_spelling(tmp_path: Path) -> None:
    """Enter searches for the suggested spelling, from the input and from the list."""
    async with tutor(tmp_path) as pilot:
        for keys in (["enter"], ["down", "enter"]):
            seen = await press(pilot, "slash", *"hlelo")
            assert "Did you mean hello? Enter searches for it." in seen
            assert "Enter search for it" in named_keys(pilot.app)
            seen = await press(pilot, *keys)
            assert "Enter open the first" in named_keys(pilot.app)
            assert "hello" == pilot.app.screen.query_one("#search", Input).value
            assert "Lessons\n" in seen
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, LessonRunScreen)
            await press(pilot, "escape", "escape", "escape")


async def test_own_path_comes_first_with_framework_per_lesson(tmp_path: Path) -> None:
    """Of two equal matches the one on the reader's path is first; each names its framework."""
    paths = (
        "- {id: laptop, title: T, who: W., lessons: [start/one]}\n"
        "- {id: other, title: T, who: W., lessons: [start/two]}\n"
    )
    needs = {"one": "{framework: jax}", "two": '{torch_xla: "2.9"}'}

    async with tutor(tmp_path, lessons=dict.fromkeys(needs, HELLO)) as pilot:
        for name, need in needs.items():
            [file] = (tmp_path / "lessons/start").glob(f"*-{name}.md")
            file.write_text(file.read_text().replace("needs: {}", f"needs: {need}"))
        (tmp_path / "lessons/paths.yml").write_text(paths)
        for chosen, names in (("laptop", ("One", "Two")), ("other", ("Two", "One"))):
            pilot.app.choose(replace(pilot.app.choices, path=chosen))  # type: ignore[attr-defined]
            seen = await press(pilot, "slash", *"hello")
            assert re.search(r"One .* JAX +2 min", seen)
            assert re.search(r"Two .* PyTorch/XLA +2 min", seen)
            assert seen.index(f" {names[0]} ") < seen.index(f" {names[1]} ")
            await press(pilot, "escape", "escape")


async def test_found_sentence_has_short_program_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result shows `tpustarter` whatever launches it, and keeps its marked words."""
    lesson = "# Full\n\nThe command `tpustarter check` waits, not tpustarter itself.\n"
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: "uv run tpustarter")
    monkeypatch.setattr(text_layout, "tpustarter_command", lambda: "uv run tpustarter")

    async with tutor(tmp_path, lessons={"full": lesson}, size=(160, 30)) as pilot:
        seen = await press(pilot, "slash", *"check waits")
        assert 3 == seen.count("The command tpustarter check waits")
        assert "uv run" not in seen
        assert ["check waits"] * 2 == _marked(pilot)[:2]


def _marked(pilot: Pilot[None]) -> list[str]:
    """Return the texts painted bold and underlined."""
    strips = pilot.app.screen._compositor.render_strips()
    return [
        segment.text
        for strip in strips
        for segment in strip
        if segment.style and segment.style.bold and segment.style.underline
    ]


async def test_wide_list_describes_marked_lesson(tmp_path: Path) -> None:
    """From 120 columns on, the details have the lesson's opening, checks and progress."""
    async with tutor(tmp_path, size=(120, 30)) as pilot:
        seen = await press(pilot, "l")
        for said in (
            "start/hello, 2 min; next on your path",
            "A first lesson about a word.",
            "Checks that prove it",
            "host.passes",
        ):
            assert said in seen
        assert "start/hangs, 2 min; not begun" in await press(pilot, "down")
        await pilot.resize_terminal(100, 30)
        assert "start/hangs, 2 min" not in await press(pilot, "up")


async def test_wide_search_shows_target_of_enter(tmp_path: Path) -> None:
    """A title shows the lesson's beginning, and a sentence the place where it is."""
    lesson = "# Donation\n\nSays so.\n\n## Later\n\nMost of a donation goes elsewhere.\n"

    async with tutor(tmp_path, size=(160, 44), lessons={"donation": lesson}) as pilot:
        await press(pilot, "slash", *"donation")
        await _wait_for(pilot, "goes elsewhere")
        await press(pilot, "down")
        detail = pilot.app.screen.query_one("#detail")
        assert "goes elsewhere" not in str(detail.query_one(Static).visual.lines(60))
        await press(pilot, "down")
        assert "goes elsewhere" in str(detail.query_one(Static).visual.lines(60))


async def test_lessons_are_grouped_by_stage_of_path(tmp_path: Path) -> None:
    """The next lesson is marked, and `v` names the filter that it switches to."""
    order = "- {id: laptop, title: T, who: W., lessons: [{A stage: [start/second]}]}\n"

    async with tutor(tmp_path, lessons=dict.fromkeys(("hello", "second"), HELLO)) as pilot:
        (tmp_path / "lessons/paths.yml").write_text(order)
        seen = await press(pilot, "l")
        assert re.search(r"A stage\n +next  Second .*\n\n +Not on your path: Begin\n", seen)
        assert pilot.app.screen.query_one(RowList).highlighted_id == "start/second"
        assert "v only open ones" in seen
        assert "v only done ones" in await press(pilot, "v")
        seen = await press(pilot, "v")
        assert "None yet. Press v to see the others." in seen
        assert "v all lessons" in seen


async def test_details_show_marked_word_check_or_claim(tmp_path: Path) -> None:
    """The details show the lessons that use a word, or what is true of a claim."""
    write_claims(tmp_path)

    async with tutor(tmp_path, size=(160, 44)) as pilot:
        await press(pilot, "slash", *"word")
        await _wait_for(pilot, "Glossary")
        assert "Lessons that use it" in await press(pilot, "down")
        assert pilot.app.screen.query_one("#detail").region.height < 12
        await press(pilot, "slash", *"jnp.gone")
        await _wait_for(pilot, "Older tutorials")
        seen = await press(pilot, "down")
        assert "What older tutorials say" in seen
        assert re.search(r"shown by +start/hello#again", seen)
        await press(pilot, "slash", *"host.passes")
        await _wait_for(pilot, "Checks")
        assert "Enter runs it, and c on the first" in await press(pilot, "down", "end")


async def test_references_of_lesson_are_beside_list(tmp_path: Path) -> None:
    """The lessons that use a word are beside the list, or behind each word on a narrow screen."""
    async with tutor(tmp_path, size=(160, 44)) as pilot:
        seen = await press(pilot, "enter", "w")
        assert "Lessons that use it" in seen
        assert "word  What is said at once." not in seen
        assert "Enter runs it, and c on" in await press(pilot, "down")
        await pilot.resize_terminal(80, 24)
        assert "word  What is said at once." in await press(pilot, "home")


async def test_details_show_paragraph_of_match(tmp_path: Path) -> None:
    """The paragraph of the match is shown above the description, with the match marked."""
    text = (
        "# Full\n\nWhat it is about.\n\n## Late\n\nBefore it. A zebra is in\nthis one. After"
        " it.\n\n## Later\n\nAnother zebra, far below.\n"
    )

    async with tutor(tmp_path, lessons={"full": text, "hello": HELLO}, size=(160, 44)) as pilot:
        await press(pilot, "slash", *"zebra", "down", "down")
        assert "Later Another zebra, far below. start/full" in _beside(pilot)
        assert ["zebra", "zebra", "zebra"] == sorted(_marked(pilot))
        await press(pilot, "down")
        seen = _beside(pilot)
        assert "Late Before it. A zebra is in this one. After it. start/full" in seen
        assert "What it is about." in seen


def _beside(pilot: Pilot[None]) -> str:
    """Return the text beside the list as one line."""
    rows = on_screen(pilot.app).splitlines()[6:-3]  # type: ignore[arg-type]
    return " ".join(" ".join(row[82:].strip("│ ") for row in rows).split())


async def test_glossary_entry_names_lessons_that_use_word(tmp_path: Path) -> None:
    """The entry of a word names the lessons that use it."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "slash", *"what is word")
        await _wait_for(pilot, "Glossary\n")
        await press(pilot, "down", "enter")
        seen = await _wait_for(
            pilot,
            "╭─ word ─",
            "What is said at once.",
            "Lessons that use it",
            "Enter open  Esc",
        )
        assert re.search(r"Lessons that use it *│[^│]*\n[^│]*│ +Hello", seen)
        assert "Hello  2 min" in await press(pilot, "enter")
        assert "Glossary" in await press(pilot, "escape")


async def test_exercise_is_found_by_name_and_opened(tmp_path: Path) -> None:
    """An exercise is found by words of its id or title; its task is beside the list."""
    async with driven(TpustarterApp(), (80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "1", "slash", *"training one")
        await _wait_for(pilot, "Exercises\n", "Write one training step with sharded weights")
        await pilot.resize_terminal(200, 50)
        await _wait_for(pilot, "The model is linear", "jax/one-training-step")
        await pilot.resize_terminal(80, 24)
        assert "Exercises" not in await press(pilot, *["backspace"] * 4)
        await press(pilot, *" with sharded weights")
        await _wait_for(pilot, "Exercises\n", "Write one training step with sharded weights")
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, ExerciseScreen)


async def test_found_lesson_stays_marked_after_esc(tmp_path: Path) -> None:
    """Esc keeps the found lesson marked, or the first one if a filter hides it."""
    names = [f"lesson{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    lessons = {name: HELLO.replace("Hello", name) for name in names}
    lessons["lessonx"] += "\nIt has a needle.\n"

    async with tutor(tmp_path, lessons=lessons, size=(120, 24)) as pilot:
        lesson_progress.record_lesson_done("start/lessonx")
        await press(pilot, "l", "slash", *"needle")
        await _wait_for(pilot, "           It has a needle")
        await press(pilot, "down", "down", "escape")
        rows = pilot.app.screen.query_one(RowList)
        assert "start/lessonx" == rows.highlighted_id
        await _wait_for(pilot, "done  Lessonx", "─ Lessonx ─")
        await press(pilot, "v")
        assert ("start/lessona", 0) == (rows.highlighted_id, rows.scroll_offset.y)
        await _wait_for(pilot, "  next  Lessona", "─ Lessona ─")


LONG = (
    "First there is much to say of other things, of which nobody had asked anything at all, and at "
    "last comes the needle, for which somebody may have looked in vain for half of the day."
)


@pytest.mark.parametrize("size", [(80, 24), (110, 40), (120, 35), (80, 18)])
async def test_each_result_has_single_line_with_full_details(
    size: tuple[int, int], tmp_path: Path
) -> None:
    """Each result has one line, and its full text is in the details if there is room."""
    lessons = {f"lesson{letter}": f"# One\n\nHere it is.\n\n{LONG}\n" for letter in "abc"}

    async with tutor(tmp_path, lessons=lessons, size=size) as pilot:
        seen = await press(pilot, "l")
        assert "other things" not in seen
        seen = await press(pilot, "slash", *"needle", "down", "down")
        assert re.search(r" …[a-z, ]*comes the needle.*…", seen)
        rows = pilot.app.screen.query_one(RowList)
        assert rows.virtual_size.height == rows.option_count
        read = re.sub(r"[\s│▌▁▂▃▄▅▆▇█]+", " ", on_screen(pilot.app))  # type: ignore[arg-type]
        if size[0] < 120:  # beside the list the lines of both alternate
            assert (size[1] > 18) == (LONG in read)
        assert (size[1] > 18) == ("Space reads on" in seen or "half of the" in read)
        await press(pilot, "escape")
        assert not pilot.app.screen.has_class("-below")


def test_excerpt_shows_match_in_single_line() -> None:
    """The excerpt is cut at its beginning only if the match would not fit."""
    sentence = mark_terms(((LONG[:109], False), ("needle", True), (LONG[115:], False)))
    [shown] = ExcerptLine(Content("  "), sentence, with_found=True).lines(60)
    [begun] = ExcerptLine(Content("  "), sentence).lines(60)
    [short] = ExcerptLine(
        Content("  "), mark_terms((("a ", False), ("b", True))), with_found=True
    ).lines(60)
    [last] = ExcerptLine(Content(""), sentence[:115], with_found=True).lines(60)

    assert re.fullmatch(r"  …\w.* the needle, .*…", shown.plain)
    assert 60 == len(shown.plain)
    assert begun.plain.startswith("  First there is")
    assert begun.plain.endswith("…")
    assert "  a b" == short.plain
    assert last.plain.endswith("comes the needle")
    assert 50 < len(last.plain) <= 60


async def test_failed_search_leaves_keys_working(tmp_path: Path) -> None:
    """Unreadable claims are reported in the list, and Esc still closes the search."""
    write_claims(tmp_path, "- id: [")

    async with tutor(tmp_path) as pilot:
        await pilot.press("slash", *"gone", "enter", "down")
        seen = await _wait_for(pilot, "─ Nothing can be looked up ─")
        assert "then-now.yml" in "".join(seen.split())
        assert "─ Nothing can be looked up ─" in await press(pilot, "x")
        await press(pilot, "enter", "escape", "escape")
        assert isinstance(pilot.app.screen, HomeScreen)


@pytest.mark.parametrize("whole", [2, 3])
async def test_partial_match_needs_few_whole_word_matches(whole: int, tmp_path: Path) -> None:
    """Matches inside words are shown only if there are few matches of whole words."""
    lessons = {f"lesson{number}": "# One\n\nThe loader reads.\n" for number in range(whole)}
    lessons["other"] = "# Other\n\nTwo uploaders wait.\n"
    claim = CLAIMS.replace("nothing of the kind", "the uploader is slow")
    write_claims(tmp_path, claim)

    async with tutor(tmp_path, lessons=lessons, size=(80, 50)) as pilot:
        seen = await press(pilot, "slash", *"loader")
        assert "The loader reads" in seen
        assert (whole < 3) == ("Two uploaders wait" in seen)
        assert (whole < 3) == ("000-02" in seen)


async def test_common_word_does_not_flood_results(tmp_path: Path) -> None:
    """A common word shows only glossary entries of that name and the best three claims."""
    entry = CLAIMS.partition("- id: 000-02")[0]
    claims = "".join(entry.replace("000-01", f"000-{number:02}") for number in range(1, 15))
    write_claims(tmp_path, claims)
    words = "# Glossary\n\n## gone\n\nIt left.\n\n## other\n\nWhat is never gone.\n"

    async with tutor(tmp_path, size=(80, 50)) as pilot:
        (tmp_path / "lessons/glossary.md").write_text(words)
        await pilot.press("slash", *"is gone")
        seen = await _wait_for(pilot, "Found for is gone", "Older tutorials", "It left.")
        assert "What is never gone." not in seen
        assert 3 == len(re.findall(r" 000-\d\d ", seen))


@pytest.mark.parametrize(("between", "is_below_heading"), [(2, True), (40, False)])
async def test_enter_on_sentence_opens_its_section_heading(
    between: int, is_below_heading: bool, tmp_path: Path
) -> None:
    """The section's heading is the first line, or the sentence if both do not fit."""
    filler = "Some text.\n\n" * between
    lesson = f"# Full\n\n{filler}## Before\n\nA text.\n\n## Late\n\n{filler}A zebra.\n\n"

    lessons = {"full": lesson + "Last text.\n\n" * 40}
    async with tutor(tmp_path, lessons=lessons) as pilot:
        await pilot.press("slash", *"zebra")
        await _wait_for(pilot, "A zebra.", "Found for zebra")
        await press(pilot, "down", "down", "enter")
        seen = await _wait_for(pilot, "A zebra.", "Last text.")
        assert is_below_heading == ("Late" in seen)
        assert "A text." not in seen
        first = next(line for line in seen.splitlines()[1:] if re.search(r"\w", line))
        assert ("Late" if is_below_heading else "A zebra.") in first
