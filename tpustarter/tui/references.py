"""What a lesson refers to: words of the glossary, lessons, checks, web addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter.content import Lesson
from tpustarter.learning import glossary
from tpustarter.learning.markdown import tokens


@dataclass(frozen=True)
class Reference:
    """One thing a lesson refers to."""

    kind: str
    """The title it stands below."""
    target: str
    """Of a word its heading, of a lesson or check its id, and the address of a page."""
    text: str = ""
    """What the word means, or what is said of the target."""


def references(lesson: Lesson, lessons: Iterable[Lesson], folder: Path | None) -> list[Reference]:
    """Return what a lesson refers to, each once: words first, web addresses last."""
    meanings = glossary.read(folder)
    lessons_by_path = {candidate.path.resolve(): candidate for candidate in lessons}
    entries = list[Reference]()
    for target, text in _links(lesson.text):
        name, _, heading = target.partition("#")
        if re.match("https?://", target):
            entries.append(Reference("On the web", target, text))
        elif name.endswith(glossary.FILE):
            entries += [Reference("Words", *meanings[heading])] if heading in meanings else []
        elif linked := lessons_by_path.get((lesson.path.parent / name).resolve()):
            entries.append(Reference("Lessons", linked.id, linked.title))
    entries += [Reference("Checks", check, "Enter runs it") for check in texts(lesson, "checks")]
    targets = {entry.target for entry in entries}
    sources = [source for source in texts(lesson, "sources") if source not in targets]
    entries += [Reference("On the web", source) for source in sources]
    kinds = ("Words", "Lessons", "Checks", "On the web")
    return sorted(
        {entry.target: entry for entry in entries}.values(),
        key=lambda entry: kinds.index(entry.kind),
    )


def texts(lesson: Lesson, key: str) -> list[str]:
    """Return a list in the lesson's header."""
    value: Any = lesson.header.get(key)
    return [str(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _links(text: str) -> Iterator[tuple[str, str]]:
    """Yield where each link of a Markdown text leads, and what it is called."""
    for token in tokens(text):
        target, title = "", ""
        for child in token.children or ():
            if child.type == "link_open":
                target, title = str(child.attrs["href"]), ""
            elif child.type == "link_close":
                yield target, title
            else:
                title += child.content
