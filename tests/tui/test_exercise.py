"""Questions and exercises in the app: answers by digit, and judging at each save."""

from __future__ import annotations

from pathlib import Path

from tests.learning.test_exercises import SHIPPED, SOLVED
from tests.support.tutor import on_screen, press, tutor, until, write_lessons
from tpustarter.core import locations
from tpustarter.learning.progress import lesson_progress, progress_transfer

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
    """Return the path of the learner's copy."""
    return locations.make_state_folder() / "exercises" / "start" / "double.py"


async def test_digit_answers_question_and_shows_reason(tmp_path: Path) -> None:
    """A digit answers a question and shows the reason, and answers are stored."""
    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        seen = await press(pilot, "enter")
        assert "press 1 or 2" in seen
        assert "8 counts" not in seen
        seen = await press(pilot, "1")
        assert "no  8 counts TensorCores." in seen
        assert "Two cores" not in seen
        seen = await press(pilot, "2", "5")
        assert "right  Two cores are one device." in seen
    quizzes = progress_transfer.make_progress_export()["lessons"]["start/asks"]["quizzes"]

    assert quizzes["v4"]["right"] is True


async def test_saved_exercise_is_judged(tmp_path: Path) -> None:
    """A saved exercise shows the task, a wrong verdict, and then a right one."""
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


async def test_right_answer_shows_lesson_learned_and_next_key(tmp_path: Path) -> None:
    """The verdict shows what was learned; Enter opens the next lesson, and Esc goes back."""
    lessons = {"asks": LESSON, "then": "# Then\n\nOn we go.\n"}
    paths = "- {id: laptop, title: Mine, who: W., lessons: [start/asks, start/then]}\n"

    async with tutor(tmp_path, lessons=lessons) as pilot:
        (tmp_path / "lessons" / "paths.yml").write_text(paths)
        lessons_with_exercise(tmp_path)
        lesson_progress.record_lesson_done("start/asks")
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


async def test_hint_solution_and_reset_have_keys(tmp_path: Path) -> None:
    """`h` gives hints, `s` the solution after a question, and `u` the shipped text."""
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
        for typed, kept in (("typed", "double.py.old"), ("anew", "double.py-2.old")):
            # At once, for an empty file would be judged, too, and `u` works after that.
            (tmp_path / "saved").write_text(typed)
            (tmp_path / "saved").replace(learner_file())
            await until(pilot, lambda: "BROKEN" in on_screen(pilot.app))
            seen = await press(pilot, "u", "y")
            assert learner_file().read_text() == SHIPPED
            assert learner_file().with_name(kept).read_text() == typed
            assert kept in seen
        await press(pilot, "u", "y")
        assert 3 == len([*learner_file().parent.iterdir()])


async def test_broken_answer_leaves_keys_of_help(tmp_path: Path) -> None:
    """At 80 columns hints are named before judging again, and then the solution."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 24)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p")
        learner_file().write_text("typed")
        await until(pilot, lambda: "BROKEN" in on_screen(pilot.app))
        assert "h hint" in on_screen(pilot.app).splitlines()[-1]
        seen = await press(pilot, "h", "h")
        assert "s solution" in seen.splitlines()[-1]


async def test_endless_answer_is_stopped_by_key(tmp_path: Path) -> None:
    """Esc first stops an endless answer, and then leaves the exercise."""
    endless = SHIPPED.replace("def double", "while True:\n    pass\n\ndef double")

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


async def test_e_edits_file_and_keeps_every_letter(tmp_path: Path) -> None:
    """`e` edits the learner's part, Ctrl+R judges it, and Esc ends typing."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "enter", "p", "e")
        assert "Ctrl+R judge" in seen
        before = learner_file().read_text()
        await press(pilot, "ctrl+end", "enter", *"# mine")
        await until(pilot, lambda: "# mine" in learner_file().read_text())
        assert before.partition("def ")[0] == learner_file().read_text().partition("def ")[0]
        assert (
            before.partition("# Judged")[2] == learner_file().read_text().partition("# Judged")[2]
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


async def test_code_to_replace_is_in_sight(tmp_path: Path) -> None:
    """The line to replace is in sight, even below more lines than the screen has."""
    text = SHIPPED.replace("def double", "X = 1\n" * 30 + "def double")

    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path, text)
        await press(pilot, "enter", "p", "e")
        await until(pilot, lambda: "your code here" in on_screen(pilot.app))


async def test_solved_exercise_stays_solved_after_wrong_answer(tmp_path: Path) -> None:
    """A wrong answer after a right one leaves the exercise solved."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        lesson_progress.record_verdict("start/asks", "double", is_right=True)
        seen = await press(pilot, "enter", "p", "r")
        assert "NOT YET" in seen
        assert "An earlier answer was right, so it stays solved." in " ".join(
            seen.replace("│", " ").split()
        )


async def test_broken_exercise_is_reported_in_lesson(tmp_path: Path) -> None:
    """A broken exercise is one error in place of the lesson, and Esc goes back."""
    write_lessons(tmp_path / "lessons", asks=LESSON)

    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path, SHIPPED.replace("# Judged below", "# no mark"))
        seen = await press(pilot, "enter")
        assert "the exercise `start/double` has not" in seen
        await press(pilot, "escape")
