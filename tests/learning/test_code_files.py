"""Code files of a lesson, for its blocks, exercises and readers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.learning.test_exercises import lesson_with, shipped
from tests.report.test_reproducing import ON_CPU, undefined
from tests.support import copies
from tests.support.made_lessons import fence, make_lesson, run_lesson
from tests.support.places import REPOSITORY
from tpustarter.core import content, locations
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content import code_files, exercises, lesson_text, notebook
from tpustarter.learning.content.blocks import list_blocks, parse_lesson
from tpustarter.learning.lint import lesson_mistakes
from tpustarter.learning.progress.lesson_progress import LessonProgress
from tpustarter.reproducing import reproducer_file, reproducer_run
from tpustarter.reproducing.reproducer_run import ReproducerEnvironment
from tpustarter.tui.lesson.opened_lesson import OpenedLesson

DOUBLE = '"""Doubles."""\n\nimport words\n\n\ndef double(x):\n    return 2 * x * words.COUNT\n'
WORDS = "from pathlib import Path\n\nCOUNT = len(Path('two.txt').read_text().split())\n"
FILES = {"double.py": DOUBLE, "words.py": WORDS, "two.txt": "tea pot\n", "unused.py": "X = 1\n"}
USES = fence("import double\n\nprint(double.double(4))", "16") + fence("print(1)", "1", name="b")


def with_files(folder: Path, text: str = USES, files: dict[str, str] | None = None) -> Lesson:
    """Write a lesson of the track `made` with files in its folder `code`."""
    lesson = make_lesson(folder, text)
    files = FILES if files is None else files
    (folder / "made/code").mkdir(exist_ok=True)
    for name, one in files.items():
        if "/" not in name:
            (folder / "made/code" / name).write_bytes(one.encode())
    return replace(lesson, header={**lesson.header, "code": [*files]})


def test_blocks_import_and_read_lesson_files(tmp_path: Path) -> None:
    """Blocks run in a folder with the lesson's files, also after a crash."""
    crash = fence("import os\nos._exit(1)", name="crash")
    where = fence(
        "import os\nprint(sorted({*os.listdir()} - {'__pycache__'}))",
        str(sorted(FILES)),
        name="where",
    )
    results = run_lesson(with_files(tmp_path, USES + crash + where))

    assert ["pass", "pass", "error", "pass"] == [one.status for one in results.values()]


def test_lesson_without_files_runs_in_current_folder(tmp_path: Path) -> None:
    """A lesson without files keeps the current folder and `sys.path`."""
    text = fence("import os\nprint(os.getcwd())", str(Path.cwd()))

    assert "pass" == run_lesson(make_lesson(tmp_path, text))["one"].status
    assert "error" == run_lesson(make_lesson(tmp_path, USES))["one"].status


@pytest.mark.parametrize("name", ["../secret.py", "/etc/passwd", "a/b.py", "Up.py", "x.sh", ".py"])
def test_a_header_names_files_and_no_paths(name: str, tmp_path: Path) -> None:
    """A name that is a path is refused, and nothing is read or run."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made/secret.py").write_text("X = 1\n")
    lesson = with_files(tmp_path, files={name: ""})

    with pytest.raises(Problem, match="is not the name of"):
        code_files.read_code_files(lesson)
    [result, _] = run_lesson(lesson).values()
    assert ("error", "load") == (result.status, result.reason)
    assert "is not the name of" in result.detail


def test_linter_names_mistakes_of_files(tmp_path: Path) -> None:
    """Missing files, CRLF, syntax errors and unlisted packages are reported."""
    files = {"a.py": "import optax\n", "b.txt": "one\r\ntwo\r\n", "c.py": "x = (\n"}
    lesson = with_files(tmp_path, files=files)
    lesson = replace(lesson, header={**lesson.header, "code": [*files, "a.py", "gone.txt"]})
    told = "\n".join(lesson_mistakes.lint_lessons([lesson], set()))

    assert "`a.py` imports `optax`, expected `optax` in the `packages`" in told
    assert "`b.txt` has other line ends" in told
    assert "`c.py` is no Python" in told
    assert "`code` names `a.py` twice" in told
    assert "cannot read `gone.txt`" in told
    assert 5 == len({*told.split("\n")})


def test_exercise_imports_lesson_files_also_in_editor(tmp_path: Path) -> None:
    """The lesson's files are copied beside the learner's file, which must not share their name."""
    shipped(tmp_path)
    made = lesson_with(tmp_path, "double")
    lesson = with_files(tmp_path, files={"words.py": "COUNT = 2\n"})
    lesson = replace(lesson, header={**made.header, "code": ["words.py"]})
    [exercise] = exercises.read_exercises(lesson)
    path = exercises.ensure_learner_file(exercise)

    assert "COUNT = 2\n" == path.with_name("words.py").read_text()
    assert [] == [*code_files.find_code_file_mistakes(lesson)]
    path.with_name("words.py").write_text("COUNT = 3\n")
    exercises.ensure_learner_file(exercise)
    exercises.ensure_learner_file(exercise)
    assert ["COUNT = 2\n", "COUNT = 3\n"] == [
        path.with_name(name).read_text() for name in ("words.py", "words.py.old")
    ]
    assert 1 == len(locations.pop_move_notices())
    clash = replace(lesson, header={**lesson.header, "exercises": ["words"]})
    assert ["the exercise `words` has the name of a file of `code`"] == [
        *code_files.find_code_file_mistakes(clash)
    ]


def test_a_notebook_writes_them_first_byte_for_byte(tmp_path: Path) -> None:
    """`%%writefile` cells come first and write the same bytes in a real kernel."""
    lesson = with_files(tmp_path)
    file = tmp_path / "lesson.ipynb"
    file.write_text(notebook.render_notebook(lesson))
    run = "import sys, nbformat\nfrom nbclient import NotebookClient\n"
    run += "book = nbformat.read(sys.argv[1], as_version=4)\n"
    run += "NotebookClient(book, timeout=60, kernel_name='python3').execute()\n"
    run += "nbformat.write(book, sys.argv[1])\n"
    subprocess.run([sys.executable, "-c", run, file], check=True, cwd=tmp_path)
    cells = json.loads(file.read_text())["cells"]
    nbformat.validate(nbformat.read(file, as_version=4))

    assert FILES == {name: (tmp_path / name).read_text() for name in FILES}
    assert [f"%%writefile {name}\n" for name in FILES] == [cell["source"][0] for cell in cells[:4]]
    assert [False, False, True, False] == [
        cell["metadata"]["jupyter"]["source_hidden"] for cell in cells[:4]
    ]
    # A kernel may send one printed line in several pieces.
    pieces = [[one["text"] for one in cell.get("outputs", [])] for cell in cells]
    printed = ["".join("".join(text) for text in texts) for texts in pieces]
    assert "16\n" in printed


def test_lesson_text_explains_how_to_read_files(tmp_path: Path) -> None:
    """The command to read the files is printed before the first block, and replaces links."""
    lesson = with_files(tmp_path, "See [it](code/words.py).\n\n" + USES)
    told = "\n".join(lesson_text.render_lesson(lesson, LessonProgress()))

    assert "\nIts code uses double.py, words.py, two.txt and unused.py, each of which" in told
    assert "\ntpustarter learn made/sample --code unused.py\n" in told
    assert "See it (tpustarter learn made/sample --code words.py)." in told


def test_reader_names_files_above_first_block(tmp_path: Path) -> None:
    """The names of the files are printed once, and only for a lesson that has files."""
    for lesson, count in ((with_files(tmp_path), 1), (make_lesson(tmp_path, USES), 0)):
        unread: Any = None
        opened = OpenedLesson(
            lesson,
            parse_lesson(lesson),
            None,
            LessonProgress(),
            [],
            [],
            unread,
            None,
            [],
            None,
            {},
        )
        pieces = [*opened.pieces()]
        kinds = [piece.kind for piece in pieces]
        hints = [piece.text for piece in pieces if piece.kind == "hint"]

        assert count == len(hints)
        assert all("tpustarter learn made/sample --code unused.py" in hint for hint in hints)
        assert kinds[kinds.index("block") - 1] == ("hint" if count else "markdown")


def test_reproducer_of_block_contains_needed_files(tmp_path: Path) -> None:
    """The reproducer contains modules, has data files beside it, and runs in isolation."""
    lesson = with_files(tmp_path)
    first, second = list_blocks(lesson)
    made = reproducer_file.make_block_reproducer(lesson, [first, second], first, None, ON_CPU)
    alone = reproducer_file.make_block_reproducer(lesson, [first, second], second, None, ON_CPU)
    place = tmp_path / "run"
    place.mkdir()
    bench = ReproducerEnvironment(Path(sys.executable), place, {"PATH": "/usr/bin:/bin"})

    assert set() == undefined(made.text) - {"__file__"}
    assert {"two.txt": "tea pot\n"} == made.data_files
    assert "unused" not in made.text
    assert "--code two.txt > two.txt" in " ".join(made.text.split())
    assert "_folder" not in alone.text
    outcome = reproducer_run.run_file(made, bench, {}, 20)
    assert "holds" == outcome.kind, outcome.output


def learn(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this repository."""
    command = [sys.executable, "-m", "tpustarter", "learn", *words]
    return copies.run(command, cwd=REPOSITORY)


def test_command_copies_all_files_into_folder(tmp_path: Path) -> None:
    """Files that exist are overwritten only with `--force`."""
    copied = learn("project/the-project", "--code", str(tmp_path))
    (tmp_path / "corpus.py").write_text("mine\n")
    again = learn("project/the-project", "--code", str(tmp_path))

    assert 0 == copied.returncode
    assert {"alice.txt", "corpus.py"} <= {path.name for path in tmp_path.iterdir()}
    assert 2 == again.returncode
    assert "already exists" in again.stderr
    assert "mine\n" == (tmp_path / "corpus.py").read_text()
    assert 0 == learn("project/the-project", "--code", str(tmp_path), "--force").returncode
    assert "mine\n" != (tmp_path / "corpus.py").read_text()


def test_command_prints_file_unchanged() -> None:
    """`--code` prints the file; for an unknown name the error lists the lesson's files."""
    file = content.read_lessons()[0].path.parents[1] / "project/code/corpus.py"
    printed, other = (
        learn("project/the-project", "--code", "corpus.py"),
        learn("project/the-project", "--code", "../corpus.py"),
    )

    assert file.read_text() == printed.stdout
    assert (2, "") == (other.returncode, other.stdout)
    assert "uses no file `../corpus.py`" in other.stderr
    assert "alice.txt" in other.stderr
    assert 2 == learn("--code", "corpus.py").returncode
    assert "its header names no files" in learn("jax/precision", "--code", "a.py").stderr
