"""Tests of `tpustarter learn --exercise`: the task, hints, verdicts and exit codes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.learning.test_exercises import SHIPPED, SOLVED, shipped
from tests.support import copies
from tests.support.made_lessons import make_lesson
from tests.support.processes import HANG_S, until
from tests.support.tutor import is_alive
from tpustarter.core import locations
from tpustarter.learning.content.exercises import WIDTH
from tpustarter.learning.progress import lesson_progress

ENDLESS = "import os, time\nprint(f'I am {os.getpid()}.', flush=True)\ntime.sleep(600)  # hangs\n"
PROGRAM = (
    "from pathlib import Path; import sys; from tpustarter import __main__\n"
    "from tpustarter.core import locations\n"
    "there = Path(sys.argv.pop(1)); known = locations.content_folder\n"
    "locations.content_folder = lambda name: there if name == 'lessons' else known(name)\n"
    "sys.exit(__main__.main())\n"
)


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    """Return a folder of lessons with the sample exercise."""
    shipped(tmp_path)
    path = make_lesson(tmp_path, "Text.\n").path
    path.write_text(path.read_text().replace("minutes: 3", "minutes: 3\nexercises: [double]"))
    return tmp_path


def command(lessons: Path, *arguments: str) -> list[str]:
    """Return the command line of an exercise."""
    words = ["learn", "--python", sys.executable, *arguments]
    return [sys.executable, "-c", PROGRAM, str(lessons), *words]


def learn(lessons: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return copies.run(command(lessons, "--exercise", *arguments))


def learner_file() -> Path:
    """Return the path of the learner's copy."""
    return locations.state_folder_path() / "exercises" / "made" / "double.py"


def test_first_run_shows_task_and_makes_file(lessons: Path) -> None:
    """The first run shows the task, makes the file, and judges nothing."""
    done = learn(lessons, "made/double")

    assert done.returncode == 0
    assert " learn --exercise made/double\n" in done.stdout  # whole, to be copied
    assert done.stdout.startswith(
        "Return the double\n\n`double` must return twice its number.\n\n"
        "Your file: ~/state/exercises/made/double.py\n"
    )
    assert "RIGHT" not in done.stdout
    assert learner_file().read_text() == SHIPPED


def test_wrong_answer_exits_1_and_right_answer_0(lessons: Path) -> None:
    """A wrong answer shows found and expected; a program with an error has no verdict."""
    learn(lessons, "made/double")
    wrong = learn(lessons, "made/double")
    learner_file().write_text("1 / 0")
    broken = learn(lessons, "made/double")
    learner_file().write_text(SOLVED)
    right = learn(lessons, "made/double")

    assert (wrong.returncode, wrong.stdout.splitlines()[-2:]) == (
        1,
        [
            "NOT YET  found 4, expected 8",
            "yours to change is line 8: return number  # your code here",
        ],
    )
    told = "The same command judges it again, and this shows the next hint:\n  "
    assert wrong.stderr.startswith(f"\n{told}")
    assert wrong.stderr.endswith(" learn --exercise made/double --hint\n")
    assert (broken.returncode, broken.stdout.splitlines()[-2:]) == (
        3,
        ["BROKEN  ZeroDivisionError: division by zero", "line 1: 1 / 0"],
    )
    assert right.returncode == 0
    assert "\ndoubled\nRIGHT\n\nWhat you learned: a double is a sum.\n\n" in right.stdout
    assert "\nIts lesson is not done yet: Sample\n  tpustarter learn made/" in right.stdout
    assert learn(lessons, "--all").stdout.startswith("solved   made/double")


def test_error_names_own_file_and_appears_once(lessons: Path) -> None:
    """An error names the learner's file; the verdict repeats only its first line."""
    learn(lessons, "made/double")
    learner_file().write_text("\nraise TypeError('first\\nsecond\\nthird')\n")
    broken = learn(lessons, "made/double").stdout

    assert '/exercises/made/double.py", line 2' in broken
    assert broken.splitlines()[-2] == "BROKEN  TypeError: first"
    assert broken.splitlines()[-1].startswith("line 2: raise TypeError('first")
    assert broken.count("second") == 3  # the line of the program, twice, and what was raised


def test_titles_align_beside_longest_id() -> None:
    """Titles align with the longest shipped id, and long titles are wrapped."""
    command = [sys.executable, "-m", "tpustarter", "learn", "--exercise", "--all"]
    done = copies.run(command)
    done.check_returncode()
    lines = [line for line in done.stdout.splitlines() if "/" in line[:20]]
    longest = max(len(line[WIDTH:].split()[0]) for line in lines)

    assert longest > 30
    assert all(line[WIDTH + longest : WIDTH + longest + 2] == "  " for line in lines)
    assert all(line[WIDTH + longest + 2].strip() for line in lines)


def test_default_is_next_open_exercise_of_path(lessons: Path) -> None:
    """The default is the next open exercise of the path, until all are solved."""
    shipped(lessons, "treble")
    path = next((lessons / "made").glob("01-*.md"))
    path.write_text(path.read_text().replace("[double]", "[double, treble]"))
    (lessons / "paths.yml").write_text(
        "- {id: laptop, title: Mine, who: W., lessons: [made/sample]}\n"
    )
    first, hint = learn(lessons), learn(lessons, "--hint")
    learner_file().write_text(SOLVED)
    right = learn(lessons)
    second, listed = learn(lessons), learn(lessons, "--all")
    learner_file().with_name("treble.py").write_text(SOLVED)
    learn(lessons)
    none_left = learn(lessons)

    assert first.stdout.startswith("Exercise 1 of 2 of the lesson Sample\n\nReturn the double\n")
    assert hint.stdout.startswith("hint 1 of 2: ")
    assert "\nNext exercise of this lesson, 2 of 2: Return the double\n" in right.stdout
    assert right.stdout.endswith(" learn --exercise made/treble\n")
    assert "Your file: ~/state/exercises/made/treble.py\n" in second.stdout
    assert listed.stdout.endswith(" learn --exercise made/treble\n")
    assert "You have solved every exercise of your path." in none_left.stdout
    assert "learn --exercise --all\n" in none_left.stdout


def test_hints_solution_and_reset_each_work(lessons: Path) -> None:
    """Hints come one at a time, the solution is a program, and a reset keeps the file."""
    learn(lessons, "made/double")
    learner_file().write_text("my work")
    hints = [learn(lessons, "made/double", "--hint") for _ in range(3)]
    solution = learn(lessons, "made/double", "--solution")
    reset = learn(lessons, "made/double", "--reset")

    assert [one.stdout for one in hints] == [
        "hint 1 of 2: Two times is a plus.\n",
        "hint 2 of 2: `number + number` is one way.\n",
        "hint 2 of 2: `number + number` is one way.\n",
    ]
    assert "the last hint" in hints[2].stderr
    assert " learn --exercise made/double --solution\n" in learn(lessons, "made/double").stderr
    assert solution.stdout == "def double(number):\n    return 2 * number\n"
    assert reset.stdout.startswith("started again: ~/state/exercises/made/double.py")
    assert learner_file().with_name("double.py.old").read_text() == "my work"


def test_lesson_can_precede_its_exercise(lessons: Path) -> None:
    """A lesson can precede its exercise's id, unless the exercise belongs to another lesson."""
    named = copies.run(command(lessons, "made/sample", "--exercise", "double"))
    listed = copies.run(command(lessons, "made/sample", "--exercise"))
    missing = learn(lessons, "none", "made/sample")

    assert "`tpustarter learn made/sample --exercise` lists them" in missing.stderr
    assert "Your file: ~/state/exercises/made/double.py" in named.stdout
    assert "made/double  Return the double" in listed.stdout


def test_lesson_selects_its_exercise_or_lists_several(lessons: Path) -> None:
    """A lesson opens its only exercise or lists several; one without any says so."""
    (lessons / "paths.yml").write_text("[]\n")
    opened = learn(lessons, "sample")
    assert "Your file: ~/state/exercises/made/double.py" in opened.stdout
    make_lesson(lessons, "Text.\n", name="02-bare")
    assert "The lesson `Sample` has no exercise." in learn(lessons, "made/bare").stdout
    shipped(lessons, "treble")
    path = next((lessons / "made").glob("01-*.md"))
    path.write_text(path.read_text().replace("[double]", "[double, treble]"))
    assert not re.search("begun +made/double", learn(lessons, "made/sample").stdout)
    learner_file().write_text(SOLVED)
    several = learn(lessons, "made/sample")
    assert "The lesson `Sample` has 2 exercises." in several.stdout
    assert re.search(r"begun +made/double .*\n +made/treble ", several.stdout), several.stdout
    refused = learn(lessons, "sample", "--hint")

    assert (2, "") == (refused.returncode, refused.stdout)
    assert "error: the lesson `made/sample` has 2 exercises" in refused.stderr
    assert "`tpustarter learn made/sample --exercise` lists them" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("made/duble",), 2, "did you mean `made/double`?"),
        (
            ("made/double", "--hint", "--solution"),
            2,
            "takes one of --watch, --hint, --solution and --reset",
        ),
        (("made/double", "--lint"), 2, "give only one of --search, --old,"),
        (("made/double", "--hint", "--fresh"), 2, "--fresh"),
        (("made/double", "--solution", "--fresh"), 2, "--fresh"),
        (("made/double", "--reset", "--fresh"), 2, "--fresh"),
    ],
)
def test_invalid_request_has_reason_and_exit_code(
    lessons: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """An invalid request, such as a misspelt id, has a reason and an exit code."""
    done = learn(lessons, *arguments)

    assert code == done.returncode
    assert said in done.stderr


def test_watch_judges_each_save_until_right(lessons: Path) -> None:
    """`--watch` judges each save until the answer is right."""
    learn(lessons, "made/double")
    words = command(lessons, "--exercise", "made/double", "--watch")
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as running:
        assert running.stdout
        assert running.stderr
        for line in running.stdout:
            if line.startswith("NOT YET"):
                break
        assert any("Save the file" in line for line in running.stderr)
        learner_file().write_text(SOLVED)
        rest = running.stdout.read()

    assert (running.returncode, "RIGHT" in rest.splitlines()) == (0, True)


def watch_in_a_terminal(lessons: Path, **env: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start watching in a new terminal, and return the process and that terminal."""
    learn(lessons, "made/double")
    ours, theirs = os.openpty()
    words = command(lessons, "--exercise", "made/double", "--watch")
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **env}
    )
    os.close(theirs)
    return process, ours


def seen_until(terminal: int, words: str) -> str:
    """Return a terminal's output up to the given words."""
    seen = ""
    while words not in seen:
        seen += os.read(terminal, 4096).decode()
    return seen


def end_of(process: subprocess.Popen[bytes], terminal: int) -> int:
    """Return the exit code, after reading the remaining output."""
    os.set_blocking(terminal, False)

    def has_ended() -> bool:
        with contextlib.suppress(OSError):
            os.read(terminal, 4096)
        return process.poll() is not None

    until(has_ended, "the end of the command")
    return process.returncode


def test_watch_in_terminal_offers_keys(lessons: Path) -> None:
    """While watching, single keys give a hint, the solution, another verdict or the end."""
    process, terminal = watch_in_a_terminal(lessons)
    offer = "press h for a hint, s for the solution, r to judge it again, or q to quit."
    assert offer in " ".join(seen_until(terminal, "quit.\r\n").split())
    before = termios.tcgetattr(terminal)
    os.write(terminal, b"h")
    seen = seen_until(terminal, "quit.\r\n")
    assert seen.startswith("\r\nhint 1 of 2: Two times is a plus.\r\n\r\n")
    assert offer in " ".join(seen.split())
    os.write(terminal, b"s")
    seen = seen_until(terminal, "quit.\r\n")
    assert seen.startswith("\r\nThe solution:\r\n\r\n")
    assert f"2 * number {offer}" in " ".join(seen.split()).replace(
        "Save the file to try again. Or ", ""
    )
    os.write(terminal, b"r")
    assert seen_until(terminal, "quit").startswith("\r\nNOT YET")  # apart from what was shown
    os.write(terminal, b"q")

    assert process.wait(HANG_S) == 1
    assert not before[3] & termios.ICANON
    assert termios.tcgetattr(terminal)[3] & termios.ICANON
    os.close(terminal)


def test_right_answer_in_terminal_offers_next_lesson(lessons: Path) -> None:
    """A right answer shows a summary; `n` then opens the next lesson, and the exit code is 0."""
    first = next((lessons / "made").glob("*.md"))
    second = first.read_text().replace("exercises: [double]\n", "").replace("Text.", "The second.")
    (lessons / "made" / "0002-second.md").write_text(second)
    name = first.stem.partition("-")[2]
    order = f"- id: laptop\n  title: T\n  who: W.\n  lessons: [made/{name}, made/second]\n"
    (lessons / "paths.yml").write_text(order)
    lesson_progress.record_lesson_done(f"made/{name}")
    process, terminal = watch_in_a_terminal(lessons, PAGER="cat")
    seen_until(terminal, "quit.")
    learner_file().write_text(SOLVED)
    seen = seen_until(terminal, "quit.")
    assert "RIGHT" in seen
    assert "Press n for the next lesson, s for the solution," in " ".join(seen.split())
    os.write(terminal, b"hn")

    assert "The second." in seen_until(terminal, "The second.")
    assert end_of(process, terminal) == 0
    assert termios.tcgetattr(terminal)[3] & termios.ECHO
    os.close(terminal)


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_signal_restores_line_mode_of_terminal(number: int, expected: int, lessons: Path) -> None:
    """A signal restores the terminal's line mode, ends the run, and says how to resume."""
    process, terminal = watch_in_a_terminal(lessons)
    seen_until(terminal, "quit.")
    assert not termios.tcgetattr(terminal)[3] & termios.ICANON
    process.send_signal(number)
    if number == signal.SIGINT:
        seen = " ".join(seen_until(terminal, "--watch").replace("\\", "").split())
        assert "exit 130: stopped by you. Next: " in seen  # code is bold on a terminal
        assert " learn --exercise made/double --watch" in seen

    assert end_of(process, terminal) == expected
    assert termios.tcgetattr(terminal)[3] & termios.ICANON
    assert termios.tcgetattr(terminal)[3] & termios.ECHO
    os.close(terminal)


def test_ctrl_c_during_judging_says_how_to_resume(lessons: Path) -> None:
    """Ctrl-C while an answer is judged ends it and says how to resume."""
    learn(lessons, "made/double")
    learner_file().write_text(ENDLESS)
    words = command(lessons, "--exercise", "made/double")
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout
        line = next(line for line in process.stdout if line.startswith("I am "))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_S)

    assert process.returncode == 130
    assert err.splitlines()[-1].endswith(" learn --exercise made/double`")
    assert not is_alive(int(line.removeprefix("I am ").rstrip(".\n")))


def test_ctrl_c_ends_endless_answer(lessons: Path) -> None:
    """Ctrl-C ends an endless answer and restores the terminal."""
    process, terminal = watch_in_a_terminal(lessons)
    seen_until(terminal, "quit.")
    text = SOLVED.partition("# Judged")[0]
    learner_file().write_text(text + ENDLESS)
    seen = seen_until(terminal, ".\r\n")
    pid = int(seen.rpartition("I am ")[2].partition(".")[0])
    process.send_signal(signal.SIGINT)

    assert end_of(process, terminal) == 130
    assert termios.tcgetattr(terminal)[3] & termios.ICANON
    assert not is_alive(pid)
    os.close(terminal)
