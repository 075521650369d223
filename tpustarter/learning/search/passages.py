"""The passages that a search looks through: lessons, words, checks, old claims.

They contain no Markdown. A lesson is there twice: whole, to judge how well it fits, and in
sections, to find the place in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tpustarter.core.content import Check, Lesson
from tpustarter.learning.content import markdown
from tpustarter.learning.content.tutorial_claims import TutorialClaim

Kind = Literal["lesson", "section", "word", "check", "old"]
COLUMNS = ("title", "heading", "prose", "code")
"""The columns of a passage that are searched."""
WEIGHTS = (8.0, 4.0, 1.0, 0.6)
"""The weights of these columns."""
LONGEST_PIECE = 100
"""Characters of a piece of a word; no word of the lessons has more."""
MOST_TERMS = 40
"""Words of the lessons with which a piece of a word is completed."""
BEGIN, END = "\x01", "\x02"
"""Marks around a match: no lesson has these characters."""
FORM = 2
"""The version of passages: with another number, a kept index is made again."""
Terms = Sequence[Sequence[str]]
"""For each word of a search, the texts that match it; `*` at the end matches any ending."""


@dataclass(frozen=True)
class Passage:
    """A section of a lesson, a glossary entry, a check or a claim, as the search sees it."""

    kind: Kind
    id: str
    """The id of a lesson, a check or a claim, or the anchor of a word."""
    title: str
    heading: str = ""
    prose: str = ""
    code: str = ""
    numbers: tuple[int, ...] = ()
    """The numbers of a section's lines in the file: the heading, then prose, then code.

    The empty line of prose that ends a paragraph, an item or a row has the number 0.
    """


@dataclass(frozen=True)
class SearchSources:
    """The texts that are searched: lessons, glossary, checks and claims of older tutorials."""

    lessons: list[Lesson]
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """A word and its meaning, by anchor."""
    checks: Iterable[Check] = ()
    claims: Iterable[TutorialClaim] = ()


@dataclass(frozen=True)
class PassageMatch:
    """A passage with matches, which are between BEGIN and END."""

    kind: Kind
    id: str
    columns: tuple[str, ...]
    """Title, heading, prose and code; of a whole lesson the title alone."""
    numbers: tuple[int, ...]
    weight: float
    """The quality of the match: more is better."""


class PassageSource(Protocol):
    """The interface of the two searches for passages: by an index, or by reading every lesson."""

    def find(
        self, terms: Terms, kinds: Sequence[Kind], *, every: bool, most: int
    ) -> list[PassageMatch]:
        """Return the passages that contain every word, or any word; the best matches first."""
        ...

    def find_words(self, piece: str) -> list[str]:
        """Return words of the lessons that contain a piece of a word."""
        ...

    def words(self) -> list[str]:
        """Return words of the lessons, for guesses at a mistyped word."""
        ...


def list_passages(sources: SearchSources) -> Iterator[Passage]:
    """Yield all passages of the texts that are searched."""
    for lesson in sources.lessons:
        sections = list(_sections(lesson))
        yield _whole(lesson, sections)
        yield from sections
    for anchor, (name, meaning) in sources.words.items():
        yield Passage("word", anchor, name, "", markdown.strip_markup(" ".join(meaning.split())))
    for check in sources.checks:
        name = check.id.replace("_", " ").replace(".", " ")
        yield Passage("check", check.id, markdown.strip_markup(check.title), name)
    for claim in sources.claims:
        then, now = (markdown.strip_markup(text) for text in (claim.then, claim.now))
        yield Passage("old", claim.id, then, claim.id, now)


def _sections(lesson: Lesson) -> Iterator[Passage]:
    heading = markdown.MarkdownLine(lesson.first_line, "", "heading")
    body: list[markdown.MarkdownLine] = []
    for line in markdown.plain_lines(lesson):
        if line.kind == "heading":
            yield _section(lesson, heading, body)
            heading, body = line, []
        elif line.text.strip():
            body.append(line)
    yield _section(lesson, heading, body)


def _section(
    lesson: Lesson, heading: markdown.MarkdownLine, body: list[markdown.MarkdownLine]
) -> Passage:
    prose = list(_parted([line for line in body if line.kind == "prose"]))
    code = [line for line in body if line.kind == "code"]
    return Passage(
        "section",
        lesson.id,
        lesson.title,
        heading.text,
        "\n".join(line.text for line in prose),
        "\n".join(line.text for line in code),
        tuple(line.number for line in (heading, *prose, *code)),
    )


def _parted(lines: Iterable[markdown.MarkdownLine]) -> Iterator[markdown.MarkdownLine]:
    """Yield lines with an empty one before each new element."""
    last = 0
    for line in lines:
        if last and (line.begins or line.number != last + 1):
            yield markdown.MarkdownLine(0, "", "prose")
        yield line
        last = line.number


def _whole(lesson: Lesson, sections: Iterable[Passage]) -> Passage:
    """Return a lesson as a whole, with its id, which can say more than its title."""
    return Passage(
        "lesson",
        lesson.id,
        f"{lesson.title}\n{lesson.id.replace('/', ' ').replace('-', ' ')}",
        "\n".join(section.heading for section in sections),
        "\n".join(section.prose for section in sections),
        "\n".join(section.code for section in sections),
    )
