"""Parts of a lesson beside text and blocks: tasks, folds, figures and paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.made_lessons import HEADER, fence, make_lesson, make_session
from tests.support.stubs import make_python
from tpustarter.core.problem import Problem
from tpustarter.learning.content import blocks, lesson_text, markdown, notebook
from tpustarter.learning.content.paths import LessonPath, PathStage, read_paths
from tpustarter.learning.lint import lesson_mistakes
from tpustarter.learning.progress import course, lesson_progress
from tpustarter.learning.progress.course import NextLessonInCourse
from tpustarter.learning.run.lesson_process import LessonSession
from tpustarter.learning.run.lessons_run import LessonsRun

FIRST_LINE = HEADER.count("\n") + 1
TRY = """\
```python try id=turn
print(...)
```

```output of=turn
42
```

<details><summary>Answer</summary>

It is known.

```python answer of=turn
print(42)
```

</details>

After.
"""
HINT = """\
<details><summary>Hint</summary>

Six times seven.

</details>

"""
HINTED = TRY.replace("<details>", f"{HINT}<details>", 1)
FIGURE = """\
![Two devices side by side.](../figures/two.svg)

<!--
```figure
┌───┬───┐
│ 0 │ 1 │
└───┴───┘
```
-->
"""


def test_task_block_has_folded_answer(tmp_path: Path) -> None:
    """The answer block proves the expected output, and is shown folded."""
    parts = blocks.parse_lesson(make_lesson(tmp_path, TRY))
    block = next(part.block for part in parts if part.block)

    assert [("markdown", ""), ("block", ""), ("markdown", "Answer"), ("markdown", "")] == [
        (part.kind, part.fold) for part in parts
    ]
    assert ("print(...)\n", "print(42)\n") == (block.code, block.expected_code)
    assert block.is_try
    assert block.is_optional
    assert parts[2].text == "It is known.\n\n```python\nprint(42)\n```"


def test_plain_text_has_answers_at_end(tmp_path: Path) -> None:
    """The answers are printed in a section at the end."""
    shown = "\n".join(
        lesson_text.render_lesson(make_lesson(tmp_path, TRY), lesson_progress.LessonProgress())
    )

    assert shown.index("After.") < shown.index("Section: Answers") < shown.index("It is known.")
    assert "Your turn, block 1 (turn):\n\nIt is known." in shown
    assert "End of this section." not in shown


def test_gate_runs_answer_and_learner_keeps_task(tmp_path: Path) -> None:
    """The gate runs the answer, whose pass is not recorded as the learner's progress."""
    lesson = make_lesson(tmp_path, fence("print(1)", "1") + TRY)
    practice = LessonsRun([lesson])
    list(practice.events())

    assert {"one": "pass", "turn": "pass"} == {
        name: result.status for name, result in practice.results[lesson.id].items()
    }
    known = lesson_progress.read_progress().lessons[lesson.id]
    assert (None, 1) == (known.done, known.open_count)
    assert ["one"] == list(known.blocks)

    wrong = make_lesson(tmp_path, TRY.replace("print(42)", "print(41)"), name="02-wrong")
    practice = LessonsRun([wrong])
    list(practice.events())
    result = practice.results[wrong.id]["turn"]
    assert ("fail", "line 1: found `41`, expected `42`") == (result.status, result.detail)


def test_folded_blocks_are_not_needed_for_completion(tmp_path: Path) -> None:
    """A lesson is done without its folded blocks, which still can be run."""
    old = fence("print(2)", "2", name="old")
    folded = f"<details><summary>Older tutorials</summary>\n\n{old}</details>\n"
    lesson = make_lesson(tmp_path, fence("print(1)", "1") + folded)
    one, old_block = blocks.list_blocks(lesson)

    assert (False, True) == (one.is_optional, old_block.is_optional)
    session = make_session(lesson)
    *_, result = session.run(one)
    session.close()
    lesson_progress.record_block(lesson, one, result)  # type: ignore[arg-type]
    assert lesson_progress.is_lesson_done(lesson.id)


def test_figure_is_text_in_terminal_and_picture_elsewhere(tmp_path: Path) -> None:
    """The text of a figure is an HTML comment, so GitHub shows only the picture."""
    lesson = make_lesson(tmp_path, FIGURE)
    (figure,) = [part.figure for part in blocks.parse_lesson(lesson) if part.figure]

    assert figure.text == "┌───┬───┐\n│ 0 │ 1 │\n└───┴───┘"
    assert ("Two devices side by side.", "../figures/two.svg") == (figure.caption, figure.file)
    assert FIRST_LINE == figure.line
    shown = list(lesson_text.render_lesson(lesson, lesson_progress.LessonProgress()))
    assert "Figure: Two devices side by side." in shown
    assert "    │ 0 │ 1 │" in shown
    assert "│ 0 │ 1 │" in notebook.render_notebook(lesson)
    picture = tmp_path / "figures/two.svg"
    picture.parent.mkdir()
    picture.write_text("<svg/>")
    assert "data:image/svg+xml;base64,PHN2Zy8+" in notebook.render_notebook(lesson)
    page = make_lesson(tmp_path, FIGURE.replace("two.svg", "two.png"))
    picture.with_suffix(".png").write_bytes(b"\x89PNG")
    assert "data:image/png;base64,iVBORw==" in notebook.render_notebook(page)


def test_search_finds_folded_text_and_no_tags(tmp_path: Path) -> None:
    """Search finds summaries and figures, but not comments and tags."""
    lines = [line.text for line in markdown.plain_lines(make_lesson(tmp_path, FIGURE + TRY))]

    assert "Answer" in lines
    assert "│ 0 │ 1 │" in lines
    assert not [line for line in lines if "<" in line or "-->" in line]


BROKEN = {
    "no answer": ("```python try id=a\nx\n```\n", 0, "`a` is to be changed, and has no `answer"),
    "an answer of none": ("```python answer of=a\nx\n```\n", 0, "an answer of `a`, and no `try`"),
    "two answers": (TRY + "```python answer of=turn\nx\n```\n", 19, "an answer of `turn`, and no"),
    "an answer of a block": (
        fence("x") + "```python answer of=one\nx\n```\n",
        4,
        "an answer of `one`, and no `try`",
    ),
    "a fold in a fold": (
        "<details><summary>A</summary>\n\n<details><summary>B</summary>\n",
        2,
        "inside that of `A`",
    ),
    "a fold left open": ("<details><summary>A</summary>\n\nText.\n", 3, "never closed"),
    "a fold never opened": ("</details>\n", 0, "closes nothing"),
    "a variable": ("```python run id=a plot=x.y\nx\n```\n", 0, "does not name variables"),
    "too many": ("```python run id=a show=a,b,c,d,e\nx\n```\n", 0, "does not name variables"),
    "x alone": ("```python run id=a x=step\nx\n```\n", 0, "needs `plot=`"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_part_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    """The error is one sentence with file and line."""
    text, line, what = BROKEN[name]

    with pytest.raises(Problem) as caught:
        blocks.parse_lesson(make_lesson(tmp_path, text))

    assert f"01-sample.md`, line {FIRST_LINE + line}: " in caught.value.full_text
    assert what in caught.value.full_text


def test_block_for_newer_version_is_named_and_skipped(tmp_path: Path) -> None:
    """A lesson that needs a newer JAX is blocked, and the needed version is named."""
    lesson = make_lesson(tmp_path, fence("print(1)", "1"), needs='{jax: "99.1"}')
    session = make_session(lesson)

    assert ("jax", {"jax": "99.1"}) == (lesson.framework, lesson.frameworks)
    assert [] == [line for line in lesson_mistakes.lint_lessons([lesson], set()) if "needs" in line]
    assert session.blocked
    assert "is too old, 99.1 or newer is needed" in session.blocked.what
    assert {"jax": ""} == make_lesson(tmp_path, "", needs="{framework: jax}").frameworks


def test_another_python_is_named_if_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another Python is suggested only if its JAX is new enough."""
    monkeypatch.chdir(tmp_path)
    make_python(tmp_path / "active", jax="98.1.0", count=8)
    make_python(tmp_path / "chosen", jax="0.6.2", count=8)
    hints: list[str] = []
    for oldest in ("98.1", "98.2"):
        (root := tmp_path / f"root-{oldest}").mkdir()
        machine = lay_out(root, None, env={"VIRTUAL_ENV": str(tmp_path / "active")})
        lesson = make_lesson(tmp_path, fence("print(1)", "1"), needs=f'{{jax: "{oldest}"}}')
        chosen = str(tmp_path / "chosen/bin/python")
        session = LessonSession(lesson, machine=machine, python=chosen)
        assert session.blocked
        hints.append(session.blocked.hint)

    assert "`tpustarter learn made/sample --run --python active" in hints[0]
    assert hints[0].endswith("runs it with jax 98.1.0")
    assert "`tpustarter setup jax` makes an environment" in hints[1]


PATHS = [
    LessonPath("laptop", "L", "W.", (PathStage("", ("a/one", "a/two")),)),
    LessonPath("trouble", "T", "W.", (PathStage("", ("a/two", "a/three")),)),
]


def test_next_lesson_follows_path() -> None:
    """The next lesson is on the chosen path, also from a lesson beside it."""
    laptop, trouble = PATHS

    assert course.find_next_lesson("a/one", laptop, ()) == NextLessonInCourse(
        laptop, "next", "a/two"
    )
    assert course.find_next_lesson("a/two", laptop, ()) == NextLessonInCourse(
        laptop, "left", "a/one"
    )
    assert course.find_next_lesson("a/two", laptop, ["a/one"]) == NextLessonInCourse(
        laptop, "end", None
    )
    assert course.find_next_lesson("a/two", trouble, ()) == NextLessonInCourse(
        trouble, "next", "a/three"
    )
    assert course.find_next_lesson("a/three", laptop, ["a/one"]) == NextLessonInCourse(
        laptop, "back", "a/two"
    )
    assert course.find_next_lesson("a/three", laptop, (), ["a/one"]) == NextLessonInCourse(
        laptop, "back", "a/two"
    )
    assert course.find_next_lesson("a/two", laptop, (), ["a/one"]) == NextLessonInCourse(
        laptop, "left", "a/one"
    )
    assert course.find_next_lesson("a/three", laptop, ["a/one", "a/two"]) == NextLessonInCourse(
        laptop, "back", "a/one"
    )
    long = LessonPath("long", "L", "W.", (PathStage("", ("a/one", "a/two", "a/three", "a/four")),))
    assert course.find_next_lesson("a/one", long, ["a/two"]) == NextLessonInCourse(
        long, "next", "a/three"
    )
    assert course.find_next_lesson("a/one", long, ["a/two"], ["a/three"]) == NextLessonInCourse(
        long, "next", "a/four"
    )
    assert course.find_next_lesson("a/three", long, ["a/four"]) == NextLessonInCourse(
        long, "left", "a/one"
    )
    every = long.lessons
    assert course.find_next_lesson("a/one", long, every) == NextLessonInCourse(
        long, "next", "a/two"
    )
    assert course.find_next_lesson("a/nope", None, ()) == NextLessonInCourse(None, "end", None)
    assert laptop == course.find_path_to_follow(PATHS, on_tpu=False)
    assert trouble == course.find_path_to_follow(PATHS, on_tpu=False, chosen="trouble")
    assert laptop == course.find_path_to_follow(PATHS, on_tpu=True, chosen="gone")


def test_path_id_stands_for_its_lessons(tmp_path: Path) -> None:
    """The id of a shared path expands to its lessons."""
    first = "- {id: core, title: C, who: W., lessons: [a/one, a/two]}\n"
    second = "- {id: laptop, title: L, who: W., lessons: [a/zero, core, a/three]}\n"
    (tmp_path / "paths.yml").write_text(first + second)
    core, laptop = read_paths(tmp_path)

    assert ("a/one", "a/two") == core.lessons
    assert ("a/zero", "a/one", "a/two", "a/three") == laptop.lessons


def test_path_has_stages_and_inherits_those_of_another(tmp_path: Path) -> None:
    """A path has titled stages and can include another path's stages; other lessons are kept."""
    first = "- {id: core, title: C, who: W., lessons: [One: [a/one, a/two], Two: [a/three]]}\n"
    second = "- {id: laptop, title: L, who: W., lessons: [a/zero, a/half, core, Last: [a/four]]}\n"
    (tmp_path / "paths.yml").write_text(first + second)
    core, laptop = read_paths(tmp_path)

    assert (PathStage("One", ("a/one", "a/two")), PathStage("Two", ("a/three",))) == core.stages
    assert (PathStage("", ("a/zero", "a/half")), *core.stages, PathStage("Last", ("a/four",))) == (
        laptop.stages
    )
    assert ("a/zero", "a/half", "a/one", "a/two", "a/three", "a/four") == laptop.lessons


def test_hints_and_answers_are_printed_at_the_end(tmp_path: Path) -> None:
    """Hints and then answers are printed after the text."""
    lesson = make_lesson(tmp_path, HINTED)
    lines = list(lesson_text.render_lesson(lesson, lesson_progress.LessonProgress()))
    places = [lines.index(line) for line in ("After.", "Six times seven.", "It is known.")]

    assert sorted(places) == places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRY, False),
        (HINTED, True),
        (HINTED.replace(HINT, "").replace("After.", f"{HINT}After."), False),
    ],
)
def test_linter_asks_for_one_hint(text: str, expected: bool, tmp_path: Path) -> None:
    """The linter wants one hint per task, above its answer."""
    found = lesson_mistakes.lint_lessons([make_lesson(tmp_path, text)], set())

    assert expected == (not [one for one in found if "the task `turn`" in one])


@pytest.mark.parametrize("odd", ["\f", "\u2028", "\x85", "\v", "\r"])
def test_section_is_cut_at_lines_of_markdown(odd: str) -> None:
    """Sections are cut at the parser's line breaks, which are fewer than Python's."""
    text = f"# A\n\none{odd}two\n\n## B\n\nthree\n\n# C\n\nfour\n"

    assert "## B\n\nthree\n\n" == markdown.find_section(text, "b")
    assert "# C\n\nfour\n" == markdown.find_section(text, "c")
