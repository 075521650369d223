"""Lesson files that are broken in any way: one Problem, or a lesson that everything can show."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpustarter.core import content
from tpustarter.core.problem import Problem
from tpustarter.learning.content import lesson_text, markdown, notebook, tutorial_claims
from tpustarter.learning.content.blocks import parse_lesson
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.lint import lesson_mistakes
from tpustarter.learning.progress.lesson_progress import LessonProgress
from tpustarter.learning.search.passages import SearchSources
from tpustarter.learning.search.search import SearchLibrary
from tpustarter.text.terminal import escape_text

HEADER = b"title: T\nminutes: 2\nneeds: {}\nchecks: []\nsources: []\n"
VALUES = st.sampled_from(
    [
        b"T",
        b"[]",
        b"{}",
        b"null",
        b"~",
        b"1",
        b"9" * 5000,
        b".inf",
        b"2020-99-99",
        b"2020-01-01",
        b"[a, 1]",
        b"{framework: [jax]}",
        b"{framework: {a: b}, packages: x}",
        b"&a [*a]",
        b"*a",
        b"!!python/object:os.system x",
        b"<<: x",
        b"'",
        b'"\\x00"',
        b"? [x]",
        b"\xff",
        b"\x1b[31m",
        b"yes",
        b"0b" + b"1" * 90,
        b"[" * 50,
        b"{a: " * 30,
        b"1:60:60",
        b"!!binary aGk=",
        b"!!set {a}",
        b"!!omap [a: 1]",
        b"|\n  x",
    ]
)
KEYS = st.sampled_from([*(key.encode() for key in content.HEADER), b"<<", b"?", b"1", b"[a]"])
ENTRIES = st.lists(st.tuples(KEYS, VALUES).map(b": ".join), max_size=5).map(b"\n".join)
PIECES = st.one_of(
    st.sampled_from(
        [
            b"```python run id=a\nprint(1)\n```\n",
            b"```python run id=b timeout=1e999\n```\n",
            b"```\n",
            b"```output of=a on=any rtol=nan\n1\n```\n",
            b"```output of=a\n2\n```\n",
            b"```python run\n",
            b"```quiz id=q\nWhy?\n\n(x) A\n    B\n( ) C\n    D\n```\n",
            b"```quiz id=q\n(x) (x)\n```\n",
            b"~~~~\n",
            b"> ",
            b"- ",
            b"1. ",
            b"    ",
            b"\t",
            b"\r\n",
            b"\r",
            b"\n\n",
            b"\x00",
            b"\x0c",
            "\u2028".encode(),
            b"| a | b |\n|---|---|\n| `|` | \\| |\n",
            b"[a](b",
            b"![",
            b"[" * 300,
            b"](../jax/01-x.md#y)",
            b"*" * 300,
            b"`" * 301,
            b"> " * 300,
            b"<details>",
            b"&#xFFFFFFF;",
            b"\\",
            b"# H\n",
            b"*On a TPU:*\n\n",
            b"---\n",
            b"![x](figures/none.svg)\n",
            "\u202e\U000e0001\u00e9".encode(),
        ]
    ),
    st.text(max_size=12).map(str.encode),
)
BODIES = st.lists(PIECES, max_size=12).map(b"".join)
FILES = st.tuples(
    st.one_of(st.just(HEADER), st.just(HEADER), ENTRIES, ENTRIES.map(lambda rows: HEADER + rows)),
    BODIES,
    st.sampled_from([b"", b"", b"", b"\xff"]),
).map(lambda parts: b"---\n" + parts[0] + b"\n---\n" + b"".join(parts[1:]))
LISTS = st.one_of(
    st.lists(
        st.tuples(
            st.sampled_from([b"- id", b"  title", b"  who", b"  lessons", b"  then"]), VALUES
        ).map(b": ".join),
        max_size=6,
    ).map(b"\n".join),
    VALUES,
    st.binary(max_size=100),
)
FUZZ = settings(max_examples=50, deadline=120_000)  # ms: what hangs takes longer on any machine


def said_of(path: Path, read: Callable[[Path], object]) -> str:
    """Return the text of the Problem that reading ends with; empty where it does not."""
    try:
        read(path)
    except Problem as problem:
        return str(problem)
    return ""


def show_all(path: Path) -> None:
    """Read a lesson and pass it through what the commands and screens do."""
    lesson = content.read_lesson(path)
    for line in markdown.plain_lines(lesson):
        escape_text(line.text)
    SearchLibrary(SearchSources([lesson]), {}).search("sample")
    escape_text(
        f"{lesson.title} {lesson.framework} {lesson.packages} {lesson.header.get('minutes')}"
    )
    parse_lesson(lesson)
    notebook.render_notebook(lesson).encode("utf-8")
    "\n".join(
        escape_text(line) for line in lesson_text.render_lesson(lesson, LessonProgress())
    ).encode()


@FUZZ
@given(st.one_of(FILES, st.binary(max_size=200)))
def test_any_file_is_a_lesson_or_a_problem(data: bytes) -> None:
    """Any file is a lesson or a Problem, whatever its header or its code blocks contain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made/01-x.md"
        path.parent.mkdir()
        path.write_bytes(data)
        problem = said_of(path, show_all)

        assert not problem or "01-x.md" in problem


@FUZZ
@given(st.one_of(FILES, st.binary(max_size=200)))
def test_linter_names_mistakes_of_broken_lessons(data: bytes) -> None:
    """The linter reports the mistakes of a broken lesson and doesn't crash."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made/01-x.md"
        path.parent.mkdir()
        path.write_bytes(data)
        for complaint in lesson_mistakes.list_lesson_mistakes(Path(folder)):
            escape_text(complaint)


@pytest.mark.parametrize(
    ("name", "read"), [("paths.yml", read_paths), ("then-now.yml", tutorial_claims.read_claims)]
)
@FUZZ
@given(data=LISTS)
def test_any_list_file_is_parsed_or_problem(
    name: str, read: Callable[[Path], object], data: bytes
) -> None:
    """Any file of paths or of older tutorials is parsed or a Problem."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        problem = said_of(Path(folder), read)

        assert not problem or name in problem
