"""All there is to read, in pieces that a search looks through: lessons, words, checks, old claims.

Nothing of Markdown is left in them. A lesson is there twice: whole, which says how well it fits,
and in sections, which say where in it to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tpustarter.content import Check, Lesson
from tpustarter.learning import markdown
from tpustarter.learning.then_now import Claim

Kind = Literal["lesson", "section", "word", "check", "old"]
COLUMNS = ("title", "heading", "prose", "code")
"""What a passage is searched by."""
WEIGHTS = (8.0, 4.0, 1.0, 0.6)
"""Of these columns."""
MOST_TERMS = 40
"""Words of the lessons that a piece of a word is looked up in."""
BEGIN, END = "\x01", "\x02"
"""Stand around what was found: no lesson has these characters."""
FORM = 2
"""What passages are made like: with another number, an index that was kept is made anew."""
Terms = Sequence[Sequence[str]]
"""Of each word that is looked for: the texts that will do, `*` behind one that may go on."""


@dataclass(frozen=True)
class Passage:
    """A piece of text that can be found."""

    kind: Kind
    id: str
    """Of a lesson, a check or a claim; of a word its anchor."""
    title: str
    heading: str = ""
    prose: str = ""
    code: str = ""
    numbers: tuple[int, ...] = ()
    """Of a section: where its lines stand in the file, the heading first, then prose, then code.

    Nowhere, 0, stands the empty line of prose that ends a paragraph, an item or a row.
    """


@dataclass(frozen=True)
class Shelf:
    """What is searched."""

    lessons: list[Lesson]
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By anchor: a word and what it means."""
    checks: Iterable[Check] = ()
    claims: Iterable[Claim] = ()


@dataclass(frozen=True)
class Match:
    """A passage that was found; what was found in it stands between BEGIN and END."""

    kind: Kind
    id: str
    columns: tuple[str, ...]
    """Title, heading, prose and code; of a whole lesson the title alone."""
    numbers: tuple[int, ...]
    weight: float
    """How well it fits: more is better."""


class Searchable(Protocol):
    """What can be asked for passages."""

    def find(self, terms: Terms, kinds: Sequence[Kind], *, every: bool, most: int) -> list[Match]:
        """Return the passages that hold every word, or any of them; the best first."""
        ...

    def containing(self, piece: str) -> list[str]:
        """Return words of the lessons that a piece of a word is in."""
        ...

    def words(self) -> list[str]:
        """Return words of the lessons, to tell what a slip of the finger was for."""
        ...


def passages(shelf: Shelf) -> Iterator[Passage]:
    """Yield all passages of a shelf."""
    for lesson in shelf.lessons:
        sections = list(_sections(lesson))
        yield _whole(lesson, sections)
        yield from sections
    for anchor, (name, meaning) in shelf.words.items():
        yield Passage("word", anchor, name, "", markdown.plain(" ".join(meaning.split())))
    for check in shelf.checks:
        name = check.id.replace("_", " ").replace(".", " ")
        yield Passage("check", check.id, markdown.plain(check.title), name)
    for claim in shelf.claims:
        then, now = (markdown.plain(text) for text in (claim.then, claim.now))
        yield Passage("old", claim.id, then, claim.id, now)


def _sections(lesson: Lesson) -> Iterator[Passage]:
    """Yield the sections of a lesson, each from a heading to the next one."""
    heading = markdown.Line(lesson.first_line, "", "heading")
    body: list[markdown.Line] = []
    for line in markdown.plain_lines(lesson):
        if line.kind == "heading":
            yield _section(lesson, heading, body)
            heading, body = line, []
        elif line.text.strip():
            body.append(line)
    yield _section(lesson, heading, body)


def _section(lesson: Lesson, heading: markdown.Line, body: list[markdown.Line]) -> Passage:
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


def _parted(lines: Iterable[markdown.Line]) -> Iterator[markdown.Line]:
    """Yield lines with an empty one where something new begins."""
    last = 0
    for line in lines:
        if last and (line.begins or line.number != last + 1):
            yield markdown.Line(0, "", "prose")
        yield line
        last = line.number


def _whole(lesson: Lesson, sections: Iterable[Passage]) -> Passage:
    """Return a lesson as a whole; its id says more than its title at times."""
    return Passage(
        "lesson",
        lesson.id,
        f"{lesson.title}\n{lesson.id.replace('/', ' ').replace('-', ' ')}",
        "\n".join(section.heading for section in sections),
        "\n".join(section.prose for section in sections),
        "\n".join(section.code for section in sections),
    )
