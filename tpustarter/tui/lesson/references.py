"""A lesson's references: glossary words, lessons, checks and web addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tpustarter.core.content import Lesson
from tpustarter.learning.content import glossary
from tpustarter.learning.content.markdown import parse_tokens


@dataclass(frozen=True)
class LessonReference:
    """A glossary word, lesson, check or web address that a lesson refers to."""

    kind: str
    """The title of its section in the list."""
    target: str
    """A word's glossary heading, the id of a lesson or check, or a web address."""
    text: str = ""
    """A word's meaning, or the target's title."""


def list_references(
    lesson: Lesson, lessons: Iterable[Lesson], folder: Path | None
) -> list[LessonReference]:
    """Return a lesson's distinct references: glossary words, lessons, checks, then web pages."""
    meanings = glossary.read_glossary(folder)
    lessons_by_path = {candidate.path.resolve(): candidate for candidate in lessons}
    entries = list[LessonReference]()
    for target, text in _links(lesson.text):
        name, _, heading = target.partition("#")
        if re.match("https?://", target):
            entries.append(LessonReference("On the web", target, text))
        elif name.endswith(glossary.FILE):
            entries += [LessonReference("Words", *meanings[heading])] if heading in meanings else []
        elif linked := lessons_by_path.get((lesson.path.parent / name).resolve()):
            entries.append(LessonReference("Lessons", linked.id, linked.title))
    entries += [LessonReference("Checks", check, "Enter runs it") for check in lesson.checks]
    targets = {entry.target for entry in entries}
    sources = [source for source in lesson.sources if source not in targets]
    entries += [LessonReference("On the web", source) for source in sources]
    kinds = ("Words", "Lessons", "Checks", "On the web")
    return sorted(
        {entry.target: entry for entry in entries}.values(),
        key=lambda entry: kinds.index(entry.kind),
    )


def _links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the target and the title of each link in a Markdown text."""
    for token in parse_tokens(text):
        target, title = "", ""
        for child in token.children or ():
            if child.type == "link_open":
                target, title = str(child.attrs["href"]), ""
            elif child.type == "link_close":
                yield target, title
            else:
                title += child.content
