"""Excerpts of search results: whole sentences rather than raw lines of the file."""

from __future__ import annotations

import pytest

from tests.learning.test_search import shipped_library
from tpustarter.learning.search.excerpts import Excerpt, extend_to_words, find_excerpts
from tpustarter.learning.search.passages import BEGIN, END


def excerpts_of(*lines: str) -> list[Excerpt]:
    """Return the excerpts of lines, with `<` and `>` in place of the marks."""
    return [*find_excerpts([line.replace("<", BEGIN).replace(">", END) for line in lines])]


def shown(text: str) -> str:
    """Return a text with `<` and `>` for the marks."""
    return text.replace(BEGIN, "<").replace(END, ">")


@pytest.mark.parametrize(
    ("lines", "at", "expected"),
    [
        (
            ["One is here. Two is", "<found> there, and it stays. Three."],
            1,
            "Two is <found> there, and it stays.",
        ),
        (
            ["It is a question: <found> or", "is it not? Four."],
            0,
            "It is a question: <found> or is it not?",
        ),
        (
            ["A long one that", "goes <found> and", "ever on", "to its end."],
            1,
            "A long one that goes <found> and ever on to its end.",
        ),
        (
            ["Another.", "", "<found> is what this ends with here."],
            2,
            "<found> is what this ends with here.",
        ),
        (
            ["Some of them, e.g. this one, are <found> anywhere."],
            0,
            "Some of them, e.g. this one, are <found> anywhere.",
        ),
        (
            ["It ends, as some do, with what is <found>. Then it goes on."],
            0,
            "It ends, as some do, with what is <found>.",
        ),
        (["<Found.> It says too little alone. Three."], 0, "<Found.> It says too little alone."),
        (["<Found>."], 0, "<Found>."),
        (["orbax  <found> and kept  0.12"], 0, "orbax: <found> and kept, 0.12"),
        (["The <found> of a chip"], 0, "The <found> of a chip"),
        (
            ["No. A mesh has axes. They have", "names that are <found> anywhere."],
            1,
            "A mesh has axes. They have names that are <found> anywhere.",
        ),
        (
            ["They have names that are <found> anywhere."],
            0,
            "They have names that are <found> anywhere.",
        ),
    ],
)
def test_the_whole_sentence_is_shown(lines: list[str], at: int, expected: str) -> None:
    """A sentence over several lines is shown whole; table rows are no sentences."""
    [found] = excerpts_of(*lines)

    assert (at, expected) == (found.line, shown(found.text))
    assert found.is_sentence == (not lines[0].startswith(("orbax", "The ")))


def test_paragraph_has_excerpt_for_each_matching_sentence() -> None:
    """A paragraph gives one excerpt for each of its matching sentences."""
    first, second = excerpts_of(
        "", "The first one is <found>.", "So is the <second> one, here.", ""
    )

    assert (1, 2) == (first.line, second.line)
    assert "The first one is <found>. So is the <second> one, here." == shown(first.paragraph)
    assert first.paragraph == second.paragraph


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tf.<reduce>_mean", "tf.<reduce_mean>"),
        ("<all>-<reduce>", "<all-reduce>"),
        ("<out of> <memory>", "<out of memory>"),
        ("re<start>s", "<restarts>"),
        ("<a>, <b>", "<a>, <b>"),
    ],
)
def test_whole_words_are_marked(text: str, expected: str) -> None:
    """A match inside a word marks the whole word; adjacent words share one mark."""
    assert expected == shown(extend_to_words(text.replace("<", BEGIN).replace(">", END)))


@pytest.mark.parametrize("typed", ["shuffle", "out of memory", "all reduce", "checkpoint", "nan"])
def test_excerpts_of_lessons_are_whole_sentences(typed: str) -> None:
    """Each excerpt begins and ends at the boundaries of a sentence."""
    texts = [
        ("".join(text for text, _ in line.parts), "".join(text for text, _ in line.paragraph))
        for hit in shipped_library().search(typed).select_kind("lesson")
        for line in hit.lines
        if not line.is_code
    ]

    assert texts
    for sentence, paragraph in texts:
        before, _, after = paragraph.partition(sentence)
        assert not before or before.rstrip().endswith((".", "?", "!")), sentence
        assert not after or sentence.endswith((".", "?", "!")), sentence
