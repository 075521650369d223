"""Lessons parsed into blocks: valid text, errors with their line, and matching of output."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.made_lessons import HEADER, fence, make_lesson
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content import blocks, markdown
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.lint import lesson_mistakes
from tpustarter.learning.run.expected_output import ExpectedOutput, describe_mismatch

FIRST_LINE = HEADER.count("\n") + 1
TEXT = (
    "Before.\n\n"
    "```python run id=a timeout=5\nprint(1)\n```\n\n"
    "```output of=a on=cpu rtol=1e-2\n1\n```\n\n"
    "```output of=a on=tpu\n2\n```\n\n"
    "Between.\n\n```sh\nls\n```\n\n"
    "```python run id=b\nprint(2)\n```\n"
)


def test_a_lesson_is_markdown_and_blocks_in_order(tmp_path: Path) -> None:
    """Text is kept, an output belongs to its block, and other fences are text."""
    parts = blocks.parse_lesson(make_lesson(tmp_path, TEXT))

    assert ["markdown", "block", "markdown", "block"] == [part.kind for part in parts]
    assert parts[0].text == "# Sample\n\nBefore."
    assert parts[2].text == "Between.\n\n```sh\nls\n```"
    first, second = (part.block for part in parts if part.block)
    assert first
    assert second
    assert ("a", "print(1)\n", 5, FIRST_LINE + 2) == (
        first.id,
        first.code,
        first.timeout_s,
        first.line,
    )
    assert [("cpu", "1\n", 0.01), ("tpu", "2\n", None)] == [
        (one.platform, one.text, one.rtol) for one in first.expected
    ]
    assert second.expected == ()
    assert blocks.TIMEOUT_S == second.timeout_s


def test_expected_output_depends_on_platform(tmp_path: Path) -> None:
    """The platform's own output is expected, or else the one for any, or else none."""
    lesson = make_lesson(
        tmp_path,
        fence("print(1)", "1") + "```output of=one on=tpu\n2\n```\n" + fence("pass", name="two"),
    )
    one, two = blocks.list_blocks(lesson)

    assert ["1\n", "2\n", "1\n"] == [
        found.text for on in ("cpu", "tpu", "gpu") if (found := one.expected_on(on))
    ]
    assert two.expected_on("cpu") is None


def test_line_above_output_names_its_platform(tmp_path: Path) -> None:
    """An italic line above an output becomes its platform label; other paragraphs stay text."""
    told = "*On a TPU, as reported in 2022:*\n\n```output of=one on=tpu\n2\n```\n\nAfter.\n"
    prose = "*Rounded, it is:*\nmore.\n\n```output of=one on=gpu\n3\n```\n"
    lesson = make_lesson(tmp_path, fence("print(1)", "1") + "\nBefore.\n\n" + told + "\n" + prose)
    parts = blocks.parse_lesson(lesson)
    outputs = [one for part in parts if part.block for one in part.block.expected]

    assert ["", " on a TPU, as reported in 2022", " on a GPU"] == [
        one.platform_text for one in outputs
    ]
    assert "Before. After. *Rounded, it is:* more." == " ".join(parts[-1].text.split())


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("```python run\nx\n```", 0, "has no `id=`"),
        ("```python run id=A\nx\n```", 0, "`A` is not a valid name"),
        ("```python run id=a id=b\nx\n```", 0, "found `id=b`"),
        ("```python run id=a speed=9\nx\n```", 0, "found `speed=9`"),
        ("```python run id=a timeout=0\nx\n```", 0, "not a number above zero"),
        ("```python run id=a timeout=1e999\nx\n```", 0, "not a number above zero"),
        ("```sh run id=a\nx\n```", 0, "only `python` runs"),
        ("\n```python run id=a\nx\n", 1, "never closed"),
        ("```python run id=a\nx\n```\n\n```python run id=a\ny\n```", 4, "already a block `a`"),
        ("```output of=a\n1\n```", 0, "no such block above it"),
        ("```output\n1\n```", 0, "has no `of=`"),
        (fence("x", "1", name="a") + "```output of=a\n2\n```", 8, "second output of `a` on any"),
        (fence("x", name="a") + "```output of=a on=moon\n2\n```", 4, "expected one of any, cpu"),
        (
            fence("x", name="a") + "```output of=a rtol=much\n2\n```",
            4,
            "`rtol=much` is not a number",
        ),
        ("* item\n\n  ```python run id=a\n  x\n  ```\n", 2, "must not stand in a list"),
    ],
)
def test_broken_fence_is_named_with_file_and_line(
    text: str, line: int, what: str, tmp_path: Path
) -> None:
    """The error names the file and the line of the fence."""
    with pytest.raises(Problem) as caught:
        blocks.parse_lesson(make_lesson(tmp_path, text))

    assert f"01-sample.md`, line {FIRST_LINE + line}: " in caught.value.full_text
    assert what in caught.value.full_text


FENCE_WORDS = st.lists(
    st.sampled_from(
        [
            *("```python run id=a\n", "```output of=a on=cpu rtol=1\n", "```python run\n", "```\n"),
            *("~~~\n", "* a\n", "> ", "x = 1\n", "\n", "\r", "\t", "    ", "id=a", "of=b", "\x00"),
        ]
    )
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), FENCE_WORDS.map("".join)))
def test_any_text_is_parsed_or_problem(text: str) -> None:
    """Any text gives unique blocks or a problem, and no line appears twice."""
    lesson = Lesson("a/b", Path("a/01-b.md"), {}, text)
    try:
        parts = blocks.parse_lesson(lesson)
    except Problem:
        return
    ids = [part.block.id for part in parts if part.block]
    assert len(set(ids)) == len(ids)
    assert sum(len(part.text) for part in parts) <= len(text) + 2 * len(parts)


def expected(text: str, rtol: float | None = None) -> ExpectedOutput:
    """Return an expected output with this text."""
    return ExpectedOutput(text, "any", rtol, 1)


@pytest.mark.parametrize(
    ("wanted", "printed", "rtol"),
    [
        ("", "", None),
        ("1\n", "1", None),
        ("1  \n2\n\n", "1\n2   \n", None),
        ("time: ...", "time: 3 s", None),
        ("time: ...", "time:", None),
        ("...\nend", "a\nb\nend", None),
        ("a\n...\nb\n...", "a\nx\nb\ny\nb\nz", None),
        ("...", "", None),
        ("[1 2 ... 9]", "[1 2 ... 9]", None),
        ("0.17405128", "0.17405126", 1e-5),
        ("[ 1.00 -2.5e-3]", "[1. -0.0025]", 1e-6),
        ("x: 1.00 ...", "x: 1.001 and more 7", 1e-2),
        ("nan inf", "nan inf", 1e-2),
        ("float32 7", "float32 7.01", 1e-2),
    ],
)
def test_output_matches_within_ellipsis_and_tolerance(
    wanted: str, printed: str, rtol: float | None
) -> None:
    """Trailing spaces are ignored; `...` and `rtol` allow the differences that they specify."""
    assert describe_mismatch(expected(wanted, rtol), printed) is None


@pytest.mark.parametrize(
    ("wanted", "printed", "rtol", "said"),
    [
        ("1", "2", None, "line 1: found `2`, expected `1`"),
        ("1\n2", "1", None, "line 2: found no such line, expected `2`"),
        ("1", "", None, "line 1: found nothing, expected `1`"),
        ("1", "\n", None, "line 1: found nothing, expected `1`"),
        ("1", "1\n2", None, "line 2: found `2`, expected no further line"),
        ("", "x", None, "line 1: found `x`, expected no further line"),
        (" 1", "1", None, "line 1: found `1`, expected ` 1`"),
        ("time: ...", "took 3 s", None, "line 1: found `took 3 s`, expected `time: ...`"),
        ("...\nend", "a\nb", None, "line 1: found `a`, expected `end`"),
        ("1.0", "1.2", 0.1, "line 1: found `1.2`, expected `1.0` within rtol 0.1"),
        ("float32 7", "float16 7", 0.9, "line 1: found `float16 7`, expected `float32 7`"),
        ("1 2", "1", 0.1, "line 1: found `1`, expected `1 2` within rtol 0.1"),
        ("tpu ...", "tpux 8", 0.1, "line 1: found `tpux 8`, expected `tpu ...` within rtol 0.1"),
        ("1", "x" * 99_999, None, f"line 1: found `{'x' * 200}...`, expected `1`"),
    ],
)
def test_difference_is_one_sentence(
    wanted: str, printed: str, rtol: float | None, said: str
) -> None:
    """The first differing line is described in one sentence with found and expected."""
    told = describe_mismatch(expected(wanted, rtol), printed) or ""

    assert told.startswith(said)
    assert "\n" not in told


LINES = st.lists(st.text(st.characters(blacklist_characters="\r\n", codec="utf-8"))).map("\n".join)


@settings(deadline=None)
@given(LINES, LINES, st.sampled_from([None, 1e-3]))
def test_the_matcher_never_breaks_and_text_matches_itself(
    one: str, other: str, rtol: float | None
) -> None:
    """Any two texts can be compared; a text matches itself, and `...` matches everything."""
    told = describe_mismatch(expected(one, rtol), other)

    assert told is None or "expected" in told
    assert describe_mismatch(expected("..."), other) is None
    if "..." not in one:
        assert describe_mismatch(expected(one), one) is None


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.floats(1e-6, 0.5),
)
def test_numbers_match_exactly_within_their_tolerance(numbers: list[float], rtol: float) -> None:
    """A number within `rtol` matches, and one outside does not."""
    wanted = expected(" ".join(map(repr, numbers)), rtol)
    near = " ".join(repr(number * (1 + rtol / 2)) for number in numbers)
    far = " ".join(repr(number * (1 + 4 * rtol) + 1) for number in numbers)

    if "inf" not in near:
        assert describe_mismatch(wanted, near) is None
    if all(not math.isclose(n * (1 + 4 * rtol) + 1, n, rel_tol=rtol) for n in numbers):
        assert describe_mismatch(wanted, far) is not None


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("## A [TPU](../glossary.md#tpu) is **a chip**", "A TPU is a chip"),
        ("> *Then:* call `jax.pmap(f)` [here][1]", "Then: call jax.pmap(f) [here][1]"),
        ("| `a**b` | 2 * 3 * 4 | **x** |", "a**b  2 * 3 * 4  x"),
        ("|---|:-:|", ""),
        ("- `*args` and `**kwargs` stay", "*args and **kwargs stay"),
        ("1. snake_case_names and 2*3*4", "snake_case_names and 2*3*4"),
        ("[`jax.jit`](https://docs.jax.dev/a_(b)", "jax.jit"),
        ("![a plot](x.svg) ***both***", "a plot both"),
    ],
)
def test_lesson_line_is_found_without_markdown_marks(line: str, plain: str) -> None:
    """Marks of Markdown are removed before matching, marks inside code are kept."""
    assert plain == markdown.strip_markup(line)


def test_code_line_is_found_with_its_marks() -> None:
    """In a fence `*`, `#` and `|` are code, and the fence lines themselves are not found.

    Emphasis continues over line breaks, over code, and inside other emphasis.
    """
    path = Path("lessons/start/01-x.md")
    text = (
        "# T\n\n```python run id=x\n# note\ny = 2**3 | 1\n```\n\nAfter **it**.\n"
        "* **A `b*c`\n  and *d*.** See [the\n  page](x.md).\n\n"
        "```quiz id=q\nWhat is `a`?\n(x) **One**\n```\n"
    )
    lesson = content.Lesson("start/x", path, {}, text, 5)
    lines = [(line.number, line.text) for line in markdown.plain_lines(lesson)]

    assert lines == [
        (5, "T"),
        (6, ""),
        (8, "# note"),
        (9, "y = 2**3 | 1"),
        (11, ""),
        (12, "After it."),
        (13, "A b*c"),
        (14, "and d. See the"),
        (15, "page."),
        (16, ""),
        (18, "What is a?"),
        (19, "One"),
        (21, ""),
    ]
    assert ["heading", "prose", "code", "code", "prose"] == [
        line.kind for line in markdown.plain_lines(lesson)
    ][:5]


NEEDS_A_TRY = """\
```python try id=t
import math
```
```output of=t
```
```python answer of=t
import math
print(1)
```
```python run id=a
print(math.pi)
```
```output of=a
...
```"""
BROKEN = {
    "no-title": ("title: Sample\n", "", "the header has no `title`"),
    "unknown-key": ("minutes: 3", "minutes: 3\nlevel: 9", "`level` in the header is not one of"),
    "too-long": ("minutes: 3", "minutes: 300", "`minutes` is 300, expected 1 to 45"),
    "needs": ("needs: {}", "needs: {framework: cobol}", "`cobol` is not one of jax,"),
    "needs-more": ("needs: {}", "needs: {chips: 2}", "`needs` has `chips: 2`"),
    "needs-devices": ("needs: {}", "needs: {devices: 9}", "a number of `devices` from 2 to 8"),
    "packages": ("needs: {}", "needs: {packages: [flux]}", "`flux` is not one of accelerate,"),
    "packages-text": ("needs: {}", "needs: {packages: flax}", "`needs` has `packages: flax`"),
    "packages-not-said": (
        "END",
        "```python run id=a\n  from flax import nnx\n```\n```output of=a\n```",
        "the block `a` imports `flax`, expected `flax` in the `packages` of `needs`",
    ),
    "check": ("checks: []", "checks: [jax.nope]", "there is no check `jax.nope`"),
    "proof": ("checks: []", "checks: []\nsetups: {jax: [{proof: jax.nope}]}", "to prove a step"),
    "needs-version": ("needs: {}", "needs: {jax: new}", "`needs` has `jax: new`, expected"),
    "source": ("https://docs.python.org/3/", "ftp://x", "is not a public address"),
    "heading": ("# Sample", "# Another", "the first heading is not the title"),
    "link": ("END", "[x](nowhere.md)", "the link `nowhere.md` leads nowhere"),
    "long-link": ("END", f"[x]({'x' * 5000}.md)", "leads nowhere"),
    "anchor": ("END", "[x](#nowhere)", "names a heading that is not there"),
    "word": ("END", "You just run it.", "the word `just`"),
    "long-code": ("END", f"```sh\n{'x' * 75}\n```", "75 characters in a line, expected 74"),
    "long-line": ("END", "word " * 30, "150 characters in a line"),
    "check-to-run": ("END", "`tpustarter check host.nope`", "matches no check"),
    "fence": ("END", "```python run\nx\n```", "has no `id=`"),
    "no-label": (
        "END",
        "```python run id=a\nx\n```\n```output of=a\n```\n```output of=a on=tpu\n```",
        "an output of `a` holds on tpu alone, expected `*On a TPU:*`",
    ),
    "needs-a-try": (
        "END",
        NEEDS_A_TRY,
        "the block `a` uses `math`, which `t` makes or changes",
    ),
    "no-output": ("END", "```python run id=a\nx\n```", "has no output for `any` or `cpu`"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_each_rule_of_the_linter_can_fail(name: str, tmp_path: Path) -> None:
    """A lesson that breaks one rule is reported with file, line and that rule."""
    old, new, said = BROKEN[name]
    sound = make_lesson(tmp_path, "END\n")
    text = sound.path.read_text()
    assert [] == lesson_mistakes.lint_lessons([sound], {"host.chips"})
    sound.path.write_text(text.replace(old, new))
    found = lesson_mistakes.lint_lessons([content.read_lesson(sound.path)], {"host.chips"})

    assert [line for line in found if said in line]
    assert all(line.startswith("made/01-sample.md:") for line in found)


def test_the_linter_sees_the_folder_as_a_whole(tmp_path: Path) -> None:
    """Duplicate ids, unreadable lessons and broken paths are found across the folder."""
    make_lesson(tmp_path, "", name="01-sample")
    make_lesson(tmp_path, "", name="02-sample")
    make_lesson(tmp_path, "", name="03-broken").path.write_text("no header")
    (tmp_path / "glossary.md").write_text("# Glossary\n\nOops.\n")
    entry = "- {id: a, title: A, who: You., lessons: [made/nope, made/nope]}\n"
    (tmp_path / "paths.yml").write_text(entry * 2)
    told = "\n".join(lesson_mistakes.list_lesson_mistakes(tmp_path))

    for said in (
        "made/sample: 2 lessons have this id",
        "03-broken.md` has no YAML header",
        "glossary.md:3: the word `Oops`",
        "`a` names `made/nope`, which does not exist",
        "`a` names a lesson twice",
        "a second path `a`",
        "no path leads to `made/sample`",
    ):
        assert said in told


def test_linter_names_unreadable_glossary_and_its_link(tmp_path: Path) -> None:
    """The linter names the unreadable glossary and the link to it."""
    lesson = make_lesson(tmp_path, "[x](../glossary.md#x)\n")
    (tmp_path / "glossary.md").write_bytes(b"\xff")
    told = lesson_mistakes.lint_lessons([lesson], set())

    assert f"made/01-sample.md:{FIRST_LINE}: the link `../glossary.md#x` leads nowhere" in told
    assert "glossary.md: cannot be read" in told


def test_linter_checks_stages_of_path(tmp_path: Path) -> None:
    """Too long, empty or repeated stages, and lessons between stages, are reported."""
    nine = ", ".join(f"made/{number}" for number in range(9))
    stages = f"Long: [{nine}], None: [], Twice: [a/a], a/b, Twice: [a/c], {'x' * 50}: [a/d]"
    text = f"- {{id: a, title: A, who: You., lessons: [{stages}]}}\n"
    (tmp_path / "paths.yml").write_text(text)
    told = lesson_mistakes.list_lesson_mistakes(tmp_path)

    assert [line for line in told if "stage" in line] == [
        "paths.yml: `a`: 9 lessons in the stage `Long`, expected 1 to 8",
        "paths.yml: `a`: 0 lessons in the stage `None`, expected 1 to 8",
        "paths.yml: `a`: `a/b` is in no stage",
        f"paths.yml: `a`: the stage `{'x' * 50}` has 50 characters, expected 34",
        "paths.yml: `a`: a second stage `Twice`",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1",
        "a: b",
        "- {id: a}",
        "[",
        "- {id: a, lessons: 3}",
        "- {id: a, title: A, who: W., lessons: [One: a/b]}",
        "- {id: a, title: A, who: W., lessons: [One: ]}",
    ],
)
def test_broken_paths_are_one_clear_problem(text: str, tmp_path: Path) -> None:
    """An unusable file of paths is one problem that names the file."""
    (tmp_path / "paths.yml").write_text(text)

    with pytest.raises(Problem, match=r"paths\.yml"):
        read_paths(tmp_path)


def test_the_paths_lead_through_lessons_that_exist() -> None:
    """The shipped paths name existing lessons."""
    titles = [path.title for path in read_paths()]

    assert [
        "I want the short course",
        "I have a fresh TPU VM",
        "I only have a laptop",
        "I use Colab",
        "I use Kaggle",
        "I got a TRC grant",
        "I come from PyTorch or CUDA",
        "I come from TensorFlow",
        "I follow an old tutorial",
        "My TPU does not work",
    ] == titles
