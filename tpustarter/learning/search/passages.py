"""The passages that a search covers: lessons, glossary terms, checks, old claims.

They contain no markup. A lesson appears twice: whole, to judge how well it fits, and in sections,
to locate the match.
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
"""The searched columns of a passage."""
WEIGHTS = (8.0, 4.0, 1.0, 0.6)
"""The weights of those columns."""
LONGEST_PIECE = 100
"""Maximum characters of part of a word; no word of the lessons is longer."""
MOST_TERMS = 40
"""Maximum number of words that complete part of a word."""
BEGIN, END = "\x01", "\x02"
"""Marks around a match; no lesson contains these characters."""
FORM = 2
"""The version of passages; a cached index of another version is rebuilt."""
Terms = Sequence[Sequence[str]]
"""For each word of a search, the texts that match it; a final `*` matches any ending."""


@dataclass(frozen=True)
class Passage:
    """A lesson, a section of one, a glossary entry, a check or a claim, as the search sees it."""

    kind: Kind
    id: str
    """The id of a lesson, check or claim, or the anchor of a glossary term."""
    title: str
    heading: str = ""
    prose: str = ""
    code: str = ""
    numbers: tuple[int, ...] = ()
    """The line numbers of a section in the file: the heading, then prose, then code.

    The empty prose line that ends a paragraph, item or row has the number 0.
    """


@dataclass(frozen=True)
class SearchSources:
    """The texts that are searched: lessons, glossary, checks and claims of older tutorials."""

    lessons: list[Lesson]
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """A glossary term and its meaning, keyed by anchor."""
    checks: Iterable[Check] = ()
    claims: Iterable[TutorialClaim] = ()


@dataclass(frozen=True)
class PassageMatch:
    """A passage with matches, which are enclosed in BEGIN and END."""

    kind: Kind
    id: str
    columns: tuple[str, ...]
    """Title, heading, prose and code; for a whole lesson only the title."""
    numbers: tuple[int, ...]
    weight: float
    """The quality of the match; higher is better."""


class PassageSource(Protocol):
    """The interface of both searches for passages: with an index, or by scanning all of them."""

    def find(
        self, terms: Terms, kinds: Sequence[Kind], *, every: bool, most: int
    ) -> list[PassageMatch]:
        """Return the passages that contain every word, or any word, best matches first."""
        ...

    def find_words(self, piece: str) -> list[str]:
        """Return words of the lessons that contain part of a word."""
        ...

    def words(self) -> list[str]:
        """Return words of the lessons, as candidates for a mistyped word."""
        ...


def list_passages(sources: SearchSources) -> Iterator[Passage]:
    """Yield all passages of the searched texts."""
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
    """Yield lines with an empty line before each new element."""
    last = 0
    for line in lines:
        if last and (line.begins or line.number != last + 1):
            yield markdown.MarkdownLine(0, "", "prose")
        yield line
        last = line.number


def _whole(lesson: Lesson, sections: Iterable[Passage]) -> Passage:
    """Return a whole lesson, including its id, which can have other words than its title."""
    return Passage(
        "lesson",
        lesson.id,
        f"{lesson.title}\n{lesson.id.replace('/', ' ').replace('-', ' ')}",
        "\n".join(section.heading for section in sections),
        "\n".join(section.prose for section in sections),
        "\n".join(section.code for section in sections),
    )
