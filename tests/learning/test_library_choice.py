"""The choice of a library: one recommendation per answer, and sources for all rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tpustarter.core import content
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content import library_choice
from tpustarter.learning.content.library_choice import LibraryAdvice, LibraryQuestionnaire
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.lint import lesson_mistakes
from tpustarter.machine.generations import GENERATIONS
from tpustarter.setup.environment.setup_profiles import PROFILES

GUIDE = library_choice.read_questionnaire()
MADE = """
questions:
  - {id: from, ask: From?, choices: [{id: a, title: A, also: [old]}, {id: b, title: B}]}
  - {id: have, ask: Have?, choices: [{id: tpu, title: T, generations: [v5e]}, {id: cpu, title: N}]}
libraries:
  - {id: x, title: X, install: [get x]}
  - {id: y, title: Y, install: [get y]}
reasons:
  - {library: y, when: {from: [b], have: [cpu]}, text: first, source: https://a.b, read: 2026-11-01}
  - {library: x, text: general, source: https://a.b, read: 2026-11-01}
  - {library: y, when: {from: [b]}, text: second, source: https://a.b, read: 2026-11-01}
notes:
  - {when: {library: [y]}, text: of y, source: https://a.b, read: 2026-11-01}
starts:
  - {when: {library: [y]}, path: one, lesson: made/y}
  - {path: one, lesson: made/x}
"""


def made(folder: Path, text: str = MADE) -> LibraryQuestionnaire:
    """Return the rules of a text."""
    (folder / library_choice.FILE).write_text(text)
    return library_choice.read_questionnaire(folder)


def every_advice() -> Iterator[LibraryAdvice]:
    """Yield the advice for each combination of answers."""
    for answers in library_choice.list_answer_combinations(GUIDE):
        yield library_choice.recommend_library(GUIDE, answers)


def test_every_combination_of_answers_gets_library_and_reason() -> None:
    """Every combination of answers gives a library and a first reason with source and date."""
    counts = [len(question.choices) for question in GUIDE.questions]
    advice = list(every_advice())

    assert counts[0] * counts[1] * counts[2] == len(advice)
    assert len(advice) == len({tuple(one.answers.values()) for one in advice})
    for one in advice:
        assert one.library in GUIDE.libraries, one.answers
        assert one.reasons, one.answers
        for row in (*one.reasons, *one.notes):
            assert row.source.startswith("https://")
            assert row.read.startswith("2026-")


def test_every_library_and_row_is_reachable() -> None:
    """Every library, reason and note of the rules is reached by some answers."""
    advice = list(every_advice())

    assert {one.id for one in GUIDE.libraries} == {one.library.id for one in advice}
    assert [] == [row for row in GUIDE.reasons if not any(row in one.reasons for one in advice)]
    assert [] == [row for row in GUIDE.notes if not any(row in one.notes for one in advice)]
    assert [] == [start for start in GUIDE.starts if not any(start == one.start for one in advice)]


def test_rules_have_no_complaint() -> None:
    """The shipped rules have valid lessons, paths, answers and sources, and unique names."""
    lessons = [lesson.id for lesson in content.read_lessons()]
    paths = [path.id for path in read_paths()]

    assert [] == list(library_choice.find_library_guide_mistakes(GUIDE, lessons, paths))


def test_every_advised_package_can_be_installed() -> None:
    """Every advised `tpustarter setup` command names an existing profile."""
    commands = [command for one in GUIDE.libraries for command in one.install]
    profiles = {
        line.removeprefix("tpustarter setup ") for line in commands if line.startswith("tpustarter")
    }

    assert profiles <= {*PROFILES}


def test_every_generation_of_tpu_is_one_answer() -> None:
    """Every TPU generation, in any common spelling, selects one answer."""
    question = GUIDE.questions[-1]
    generations = [name for one in question.choices for name in one.generations]

    assert sorted(row.name for row in GENERATIONS) == sorted(generations)
    for typed, wanted in (
        ("v6e-8", "v5e-v6e"),
        ("V5litepod-4", "v5e-v6e"),
        ("TPU v3-8", "v2-v3"),
        ("tpu7x", "tpu7x"),
        ("Ironwood", "tpu7x"),
        ("colab", "notebook"),
        ("6", "laptop"),
        (" v4 ", "v4"),
    ):
        assert wanted == library_choice.parse_answer(question, typed), typed


@pytest.mark.parametrize(
    ("origin", "need", "have", "library"),
    [
        ("pytorch", "train", "v6e-8", "torchtpu"),
        ("pytorch", "train", "v3-8", "pytorch-xla"),
        ("pytorch", "keep", "tpu7x", "torchtpu"),
        ("pytorch", "learn", "laptop", "pytorch-xla"),
        ("pytorch", "learn", "v5e", "torchtpu"),
        ("pytorch", "serve", "v5p", "torchtpu"),
        ("pytorch", "serve", "v4", "jax"),
        ("pytorch", "research", "v6e", "jax"),
        ("tensorflow", "keras", "tpu7x", "keras"),
        ("tensorflow", "research", "kaggle", "jax"),
        ("tensorflow", "keep", "v5e", "tensorflow"),
        ("keras", "estimator", "laptop", "tensorflow"),
        ("tensorflow", "keep", "tpu7x", "keras"),
        ("tensorflow", "train", "v6e-8", "keras"),
        ("tensorflow", "serve", "v6e-8", "jax"),
        ("numpy", "learn", "laptop", "jax"),
        ("none", "serve", "laptop", "jax"),
    ],
)
def test_known_cases_get_expected_library(origin: str, need: str, have: str, library: str) -> None:
    """Known combinations of answers recommend the expected library."""
    typed = zip(GUIDE.questions, (origin, need, have), strict=True)
    answers = {question.id: library_choice.parse_answer(question, text) for question, text in typed}

    assert library == library_choice.recommend_library(GUIDE, answers).library.id


def test_beta_and_ending_libraries_are_marked() -> None:
    """Beta and ending libraries are always recommended with a note that says so."""
    for one in every_advice():
        notes = " ".join(row.text for row in one.notes)
        if one.library.id == "torchtpu":
            assert "0.2.0 is a beta" in notes
        if one.library.id in ("pytorch-xla", "tensorflow"):
            assert "the last release" in notes


def test_tensorflow_users_are_never_sent_to_pytorch() -> None:
    """Answers with TensorFlow never recommend PyTorch, which needs a rewrite of the model."""
    found = {one.library.id for one in every_advice() if one.answers["from"] == "tensorflow"}

    assert {"jax", "keras", "tensorflow"} == found


def test_first_reason_decides_and_only_its_library_follows(tmp_path: Path) -> None:
    """Only reasons for the recommended library are shown."""
    guide = made(tmp_path)
    special = library_choice.recommend_library(guide, {"from": "b", "have": "cpu"})
    general = library_choice.recommend_library(guide, {"from": "b", "have": "tpu"})

    assert ("y", ["first", "second"]) == (special.library.id, [r.text for r in special.reasons])
    assert ["of y"] == [row.text for row in special.notes]
    assert "made/y" == special.start.lesson
    assert ("x", ["general"]) == (general.library.id, [row.text for row in general.reasons])
    assert () == general.notes
    assert "made/x" == general.start.lesson
    assert [] == list(
        library_choice.find_library_guide_mistakes(guide, ["made/x", "made/y"], ["one"])
    )


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("text: general", "when: {from: [b]}, text: general", "no rule in `which-library.yml`"),
        ("library: x,", "library: z,", "no rule in"),
        ("from: [b], have", "from: [c], have", "`from: c`, which is not an answer"),
        ("when: {from: [b]}", "when: {whence: [b]}", "`whence: b`, which is not an answer"),
        ("also: [old]", "also: [b]", "`b` stands for two answers to `from`"),
        ("first, source: https://a.b", "first, source: a.b", "`first` has no public source"),
        (
            "of y, source: https://a.b, read: 2026-11-01",
            "of y, source: https://a.b, read: soon",
            "`of y` does not say when its source was read",
        ),
        ("lesson: made/y", "lesson: made/z", "the lesson `made/z` does not exist"),
        ("path: one, lesson: made/x", "path: two, lesson: made/x", "path `two` does not exist"),
    ],
)
def test_the_complaints_can_fail(tmp_path: Path, right: str, wrong: str, complaint: str) -> None:
    """Each kind of mistake in the rules has its message."""
    assert right in MADE
    guide = made(tmp_path, MADE.replace(right, wrong, 1))

    assert complaint in "\n".join(
        library_choice.find_library_guide_mistakes(guide, ["made/x", "made/y"], ["one"])
    )


def test_the_linter_reads_the_rules(tmp_path: Path) -> None:
    """`learn --lint` reports mistakes of the rules, and nothing if there are no rules."""
    (tmp_path / "paths.yml").write_text("[]")
    told_without = lesson_mistakes.list_lesson_mistakes(tmp_path)
    made(tmp_path)
    told = [
        line for line in lesson_mistakes.list_lesson_mistakes(tmp_path) if line not in told_without
    ]

    assert f"{library_choice.FILE}: the lesson `made/x` does not exist" in told
    assert all(line.startswith(library_choice.FILE) for line in told)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "- 3",
        "",
        MADE.replace("notes:", "more:"),
        MADE.replace("[get x]", "get x"),
        MADE.replace("[{id: a,", "[{name: a,"),
        MADE.replace("when: {from: [b]}", "when: [b]"),
    ],
)
def test_a_broken_file_is_one_problem(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    with pytest.raises(Problem, match=r"cannot read the rules in .*which-library\.yml"):
        made(tmp_path, text)


@pytest.mark.parametrize("typed", ["", "0", "7", "-1", "cuda", "v6e-x-8", "9" * 5000, "①", "v"])
def test_unknown_answer_is_refused_with_valid_answers(typed: str) -> None:
    """An unknown answer gives an error that lists the valid answers with their meaning."""
    with pytest.raises(Problem, match="is not an answer to `--have`") as refused:
        library_choice.parse_answer(GUIDE.questions[-1], typed)

    assert ExitCode.USAGE == refused.value.code
    for one in GUIDE.questions[-1].choices:
        assert f"{one.id:<12}{one.title}" in (refused.value.hint or "")
