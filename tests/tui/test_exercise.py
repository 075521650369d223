"""Questions and exercises in the app: answered with a digit, judged when the file is saved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.learning.test_exercises import SHIPPED, SOLVED
from tests.support.gates import wait_for
from tests.support.tutor import HELLO, on_screen, press, run, settle, tutor, until, write_lessons
from tpustarter import locations
from tpustarter.learning import merging, progress
from tpustarter.tui.editor import Editor

LESSON = """# Asks

```quiz id=v4
How many devices has a v4-8?

( ) 8
    8 counts TensorCores.
(x) 4
    Two cores are one device.
```
"""


def lessons_with_exercise(folder: Path, text: str = SHIPPED) -> None:
    """Add the sample exercise to the lesson `start/asks`."""
    lesson = next((folder / "lessons" / "start").glob("*-asks.md"))
    lesson.write_text(lesson.read_text().replace("minutes: 2", "minutes: 2\nexercises: [double]"))
    for kind, program in (("exercises", text), ("solutions", SOLVED)):
        file = folder / "lessons" / "start" / kind / "double.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(program)


def add_another(folder: Path) -> None:
    """Add a second exercise, of the same kind, to that lesson."""
    file = next((folder / "lessons/start").glob("*-asks.md"))
    file.write_text(file.read_text().replace("[double]", "[double, triple]"))
    for kind in ("exercises", "solutions"):
        place = folder / "lessons/start" / kind
        text = (place / "double.py").read_text().replace("the double", "the triple")
        (place / "triple.py").write_text(text)


def learner_file() -> Path:
    """Return where the learner's copy is."""
    return locations.state() / "exercises" / "start" / "double.py"


def test_a_digit_answers_the_question_in_sight_and_says_why(tmp_path: Path) -> None:
    """Every answer has its reason; what was answered is remembered."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            seen = await press(pilot, "enter")
            assert "press 1 or 2" in seen
            assert "8 counts" not in seen
            seen = await press(pilot, "1")
            assert "no  8 counts TensorCores." in seen
            assert "Two cores" not in seen
            seen = await press(pilot, "2", "5")
            assert "right  Two cores are one device." in seen

    run(journey)
    quizzes = merging.export()["lessons"]["start/asks"]["quizzes"]

    assert quizzes["v4"]["right"] is True


def test_a_click_on_an_answer_gives_it(tmp_path: Path) -> None:
    """On its text; the question itself is none."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            rows = (await press(pilot, "enter")).splitlines()
            question = next(row for row, line in enumerate(rows) if "How many devices" in line)
            await pilot.click(offset=(10, question))
            await settle(pilot)
            assert "press 1 or 2" in on_screen(pilot.app)
            right = next(row for row, line in enumerate(rows) if "2  4" in line)
            await pilot.click(offset=(10, right))
            await settle(pilot)
            assert "right  Two cores are one device." in on_screen(pilot.app)

    run(journey)


def test_an_exercise_is_judged_when_its_file_is_saved(tmp_path: Path) -> None:
    """The task, the path, a wrong answer with what was found, then the right one."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            lessons_with_exercise(tmp_path)
            seen = await press(pilot, "enter")
            assert "p         Exercise: Return the double" in seen
            seen = await press(pilot, "p")
            assert "Not judged yet. Press Enter to edit it here, and Ctrl+R to have it" in seen
            assert "double must return twice its number." in seen
            seen = await press(pilot, "r")
            assert "NOT YET  found 4, expected 8" in seen
            learner_file().write_text(SOLVED)
            await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
            await until(pilot, lambda: "doubled" in on_screen(pilot.app))
            await until(pilot, lambda: "Its lesson is not done yet: Asks" in on_screen(pilot.app))
            seen = await press(pilot, "enter")
            assert "p         Exercise, solved: Return the double" in seen

    run(journey)


def test_what_the_task_names_of_the_part_that_judges_is_shown(tmp_path: Path) -> None:
    """Below the learner's own code; the rest of that part may be the answer, and stays away."""
    text = SHIPPED.replace("`double` must", "`is_even` is asked, so `double` must")
    named = "@functools.cache\ndef is_even(number):\n    return number % 2 == 0\n"
    text = text.replace("assert double(4)", f"import functools\n\n\n{named}\n\nassert double(4)")

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path, text)
            seen = await press(pilot, "enter", "p")
            assert "Named in the task; part of what judges your answer" in seen
            assert "@functools.cache" in seen
            assert "return number % 2 == 0" in seen
            assert "assert double(4)" not in seen
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            assert "part of what judges" not in await press(pilot, "enter", "p")

    run(journey)


def test_the_file_is_shown_as_it_was_saved_last(tmp_path: Path) -> None:
    """Below the task, or beside it; without the task itself and without what judges it."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(149, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            seen = await press(pilot, "enter", "p")
            assert seen.count("def double") == 1
            assert "Judged below" not in seen
            learner_file().write_text(SOLVED.replace("def double", "def  double"))
            await until(pilot, lambda: "def  double" in on_screen(pilot.app))
            await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
            await pilot.resize_terminal(150, 40)
            await settle(pilot)
            assert on_screen(pilot.app).count("def  double") == 1
            learner_file().unlink()
            await press(pilot, "u", "y")
            assert "def double" in on_screen(pilot.app)

    run(journey)


def test_a_right_answer_says_what_was_learned_and_leads_on(tmp_path: Path) -> None:
    """One key goes to the next lesson of the path, and Esc from there back to where one began."""
    lessons = {"asks": LESSON, "then": "# Then\n\nOn we go.\n"}
    paths = "- {id: laptop, title: Mine, who: W., lessons: [start/asks, start/then]}\n"

    async def journey() -> None:
        async with tutor(tmp_path, lessons=lessons) as pilot:
            (tmp_path / "lessons" / "paths.yml").write_text(paths)
            lessons_with_exercise(tmp_path)
            progress.lesson_done("start/asks")
            await press(pilot, "enter", "p")
            learner_file().write_text(SOLVED)
            await until(pilot, lambda: 'Next on your path "Mine": Then' in on_screen(pilot.app))
            assert "You learned  a double is a sum." in on_screen(pilot.app)
            back = "Esc    Back to the lesson Asks, done"
            await until(pilot, lambda: back in on_screen(pilot.app))
            await until(pilot, lambda: "Enter go on" in on_screen(pilot.app))
            seen = await press(pilot, "enter")
            assert "On we go." in seen
            seen = await press(pilot, "escape")
            assert "On we go." not in seen
            assert "Asks" in seen

    run(journey)


def test_a_right_answer_leads_back_to_where_one_was(tmp_path: Path) -> None:
    """From another lesson it was opened by the palette, say; Esc leads there, and says so."""
    lessons = {"asks": LESSON, "then": "# Then\n\nOn we go.\n"}

    async def journey() -> None:
        async with tutor(tmp_path, lessons=lessons) as pilot:
            lessons_with_exercise(tmp_path)
            pilot.app.go.to_lesson("start/then")
            await settle(pilot)
            pilot.app.go.to_exercise("double")
            await settle(pilot)
            learner_file().write_text(SOLVED)
            await until(pilot, lambda: "Back to the lesson Then" in on_screen(pilot.app))
            assert "On we go." in await press(pilot, "escape")
            await press(pilot, "escape", "c")
            pilot.app.go.to_exercise("double")
            await settle(pilot)
            assert "Back to where you were" in await press(pilot, "r")

    run(journey)


def test_hints_the_solution_and_beginning_anew_are_a_key_each(tmp_path: Path) -> None:
    """The solution asks first while no answer has passed."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            lessons_with_exercise(tmp_path)
            seen = await press(pilot, "enter", "p", "h")
            assert "Hint 1 of 2  Two times is a plus." in seen
            seen = await press(pilot, "s")
            assert "1 of its hints you have not seen." in seen
            seen = await press(pilot, "n")
            assert "return 2 * number" not in seen
            seen = await press(pilot, "v", "y")
            assert "return 2 * number" in seen
            assert "You have seen the solution" in seen
            learner_file().write_text("typed")
            await until(pilot, lambda: "BROKEN" in on_screen(pilot.app))
            await press(pilot, "u", "y")
            assert learner_file().read_text() == SHIPPED

    run(journey)


def test_an_answer_that_does_not_end_is_stopped_with_a_key(tmp_path: Path) -> None:
    """Esc stops it first, and leaves the exercise the second time."""
    endless = SHIPPED.replace("def double", "while True:\n    pass\n\ndef double")

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            lessons_with_exercise(tmp_path, endless)
            await press(pilot, "enter", "p")
            await pilot.press("r")
            await until(pilot, lambda: "RUN  1 s" in on_screen(pilot.app))
            await until(pilot, lambda: "Ctrl+C stop" in on_screen(pilot.app))
            seen = await press(pilot, "escape")
            assert "STOPPED  by you" in seen
            seen = await press(pilot, "escape")
            assert "Asks" in seen

    run(journey)


def test_o_names_the_editor_and_how_to_leave_it_before_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a terminal cannot be lent, the app says so; the command is VISUAL's, then EDITOR's."""
    from tpustarter.tui.external_editor import editor

    monkeypatch.setenv("VISUAL", "my-editor --wait")
    monkeypatch.setenv("EDITOR", "'no words")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert editor() is None
    for name, expected in (("nano", ["nano"]), ("my-editor", ["my-editor", "--wait"])):
        file = tmp_path / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        assert editor() == expected

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            lessons_with_exercise(tmp_path)
            (tmp_path / "vi").write_text("#!/bin/sh\n")
            (tmp_path / "vi").chmod(0o755)
            monkeypatch.setenv("VISUAL", str(tmp_path / "vi"))
            seen = await press(pilot, "enter", "p", "o")
            assert "vi opens" in seen
            assert ":wq" in seen
            assert "cannot open" not in await press(pilot, "n")
            assert "this terminal cannot open an editor" in await press(pilot, "o", "y")

    monkeypatch.setenv("PATH", os.defpath)
    run(journey)


def test_e_edits_the_file_here_and_every_letter_is_in_it(tmp_path: Path) -> None:
    """Ctrl+R judges; the task and what judges it stay as they are, and Esc ends typing."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            seen = await press(pilot, "enter", "p", "e")
            assert "Ctrl+R judge" in seen
            before = learner_file().read_text()
            await press(pilot, "ctrl+end", "enter", *"# mine")
            await until(pilot, lambda: "# mine" in learner_file().read_text())
            assert before.partition("def ")[0] == learner_file().read_text().partition("def ")[0]
            assert (
                before.partition("# Judged")[2]
                == learner_file().read_text().partition("# Judged")[2]
            )
            seen = await press(pilot, "ctrl+r")
            assert "NOT YET" in seen
            assert "To see a hint, press Esc and then h." in seen
            seen = await press(pilot, "escape")
            assert "# mine" in seen
            assert "Press h for a hint." in seen
            assert "Enter edit" in seen
            assert "h hint" in seen
            assert "Ctrl+R judge" in await press(pilot, "enter")
            seen = await press(pilot, *"!", "escape")
            assert "# mine!" in seen

    run(journey)


def test_who_types_on_while_an_answer_is_judged_goes_on_typing(tmp_path: Path) -> None:
    """Its verdict comes seconds later: letters would become keys in the middle of a word."""
    judges = tmp_path / "judges"
    text = SHIPPED.replace("assert double(4)", f"{wait_for(judges)}assert double(4)")

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path, text)
            await press(pilot, "enter", "p", "e", *"return 2 * number", "enter")
            await pilot.press("ctrl+r", *"# quite")
            judges.touch()
            await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
            assert "# quite sure" in await press(pilot, *" sure")
            assert "Enter go on" in await press(pilot, "escape")

    run(journey)


def test_shift_tab_takes_indent_back_and_stays_in_the_editor(tmp_path: Path) -> None:
    """Screens take it for another field, and what is typed on would be keys."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(120, 35)) as pilot:
            lessons_with_exercise(tmp_path)
            await press(pilot, "enter", "p", "e", "ctrl+end", "ctrl+home", "tab", "tab")
            editor = pilot.app.focused
            assert isinstance(editor, Editor)
            assert editor.text.startswith("        def double")
            await press(pilot, "shift+tab", "shift+tab", "shift+tab")
            assert editor.text.startswith("def double")
            assert pilot.app.focused is editor

    run(journey)


def test_while_an_answer_is_judged_one_can_begin_to_type(tmp_path: Path) -> None:
    """The first answer takes seconds: what is typed meanwhile must not become keys."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            await press(pilot, "enter", "p")
            await pilot.press("r", "enter", *"return 2 * number")
            await until(pilot, lambda: "return 2 * number" in on_screen(pilot.app))
            await until(pilot, lambda: "NOT YET" in on_screen(pilot.app))
            assert "RIGHT" in await press(pilot, "ctrl+r")

    run(journey)


def test_p_opens_the_exercise_that_is_asked_for_in_sight(tmp_path: Path) -> None:
    """Not the lesson's first one, whose text is elsewhere."""
    link = "\n\n[Exercise: Return the triple](exercises/triple.py)\n"

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON + link}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            add_another(tmp_path)
            seen = await press(pilot, "enter", "end")
            assert "Exercise: Return the triple" in seen
            assert "Return the triple" in (await press(pilot, "p")).splitlines()[0]

    run(journey)


def test_a_look_at_an_exercise_costs_the_lesson_no_variable(tmp_path: Path) -> None:
    """The lesson's process ends for an answer that is judged, and not for a task that is read."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": f"{HELLO}\n{LESSON}"}) as pilot:
            lessons_with_exercise(tmp_path)
            await press(pilot, "enter", "r")
            holder = pilot.app.live.holder
            assert holder
            assert "double" in (await press(pilot, "p")).splitlines()[0]
            await press(pilot, "escape")
            assert holder == pilot.app.live.holder
            await press(pilot, "p", "r")
            await until(pilot, lambda: "NOT YET" in on_screen(pilot.app))
            await press(pilot, "escape")
            assert pilot.app.live.holder is None

    run(journey)


def test_what_was_right_once_stays_solved_and_says_so(tmp_path: Path) -> None:
    """A later answer that is wrong takes nothing away."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            progress.exercise_judged("start/asks", "double", is_right=True)
            seen = await press(pilot, "enter", "p", "r")
            assert "NOT YET" in seen
            assert "An earlier answer was right, so it stays solved." in " ".join(
                seen.replace("│", " ").split()
            )

    run(journey)


def test_typing_begins_at_the_gap_keeps_the_indentation_and_ends_when_it_is_right(
    tmp_path: Path,
) -> None:
    """Each line has its number in the file, because errors and verdicts name it."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            seen = await press(pilot, "enter", "p")
            first = SHIPPED[: SHIPPED.index("def double")].count("\n") + 1
            assert f"{first}  def double" in seen
            seen = await press(pilot, "e")
            assert f"{first}  def double" in seen
            assert f"{first + 1}      return number" in seen
            assert "Ctrl+R judges what you type" in seen
            await pilot.press(*"if number:", "enter", *"return 2 * number", "enter")
            seen = await press(pilot, "ctrl+r")
            assert "    if number:\n        return 2 * number\n" in learner_file().read_text()
            assert "RIGHT" in seen
            await until(pilot, lambda: "Enter go on" in on_screen(pilot.app))

    run(journey)


def test_a_long_answer_is_seen_as_far_as_the_screen_reaches(tmp_path: Path) -> None:
    """The editor has no second scroll bar in which its last lines are hidden."""
    text = SHIPPED.replace(
        "def double", "\n".join(f"a{n} = {n}" for n in range(26)) + "\n\n\ndef double"
    )

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 60)) as pilot:
            lessons_with_exercise(tmp_path, text)
            seen = await press(pilot, "enter", "p", "e")
            assert "a0 = 0" in seen
            assert "return number" in seen

    run(journey)


def test_what_is_typed_stays_when_the_window_becomes_wider(tmp_path: Path) -> None:
    """The file moves beside the task, where it shows what was typed, and can be typed into."""

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
            lessons_with_exercise(tmp_path)
            await press(pilot, "enter", "p", "e", *"return 7 ")
            await pilot.resize_terminal(180, 40)
            await settle(pilot)
            assert "return 7" in on_screen(pilot.app)
            assert "Ctrl+R judge" in await press(pilot, "e")

    run(journey)


def test_an_exercise_that_is_broken_is_told_in_its_lesson(tmp_path: Path) -> None:
    """One clear error in the place of the lesson, and Esc leads back."""
    write_lessons(tmp_path / "lessons", asks=LESSON)

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            lessons_with_exercise(tmp_path, SHIPPED.replace("# Judged below", "# no mark"))
            seen = await press(pilot, "enter")
            assert "the exercise `start/double` has not" in seen
            await press(pilot, "escape")

    run(journey)


def test_the_line_that_is_typed_is_in_sight_whatever_the_answer_printed(tmp_path: Path) -> None:
    """At 80x24 a verdict with its output takes all lines; the next letter leads back."""
    loud = SHIPPED.replace("return", "print(*range(40), sep=chr(10)); return")
    assert loud != SHIPPED

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
            lessons_with_exercise(tmp_path, loud)
            await press(pilot, "enter", "p", "enter", "ctrl+r")
            assert "NOT YET" in on_screen(pilot.app)
            assert "def double" not in on_screen(pilot.app)
            seen = await press(pilot, *"# typed")
            assert "# typed" in seen

    run(journey)
