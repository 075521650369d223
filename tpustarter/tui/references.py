"""What a lesson refers to: words of the glossary, lessons, checks, web addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter import locations
from tpustarter.content import Lesson
from tpustarter.learning.markdown import anchor, tokens

GLOSSARY = "glossary.md"


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
    meanings = read_glossary(folder)
    paths = {one.path.resolve(): one for one in lessons}
    found = list[Reference]()
    for target, text in _links(lesson.text):
        name, _, heading = target.partition("#")
        if re.match("https?://", target):
            found.append(Reference("On the web", target, text))
        elif name.endswith(GLOSSARY):
            found += [Reference("Words", *meanings[heading])] if heading in meanings else []
        elif other := paths.get((lesson.path.parent / name).resolve()):
            found.append(Reference("Lessons", other.id, other.title))
    found += [Reference("Checks", one, "Enter runs it") for one in texts(lesson, "checks")]
    known = {one.target for one in found}
    sources = [one for one in texts(lesson, "sources") if one not in known]
    found += [Reference("On the web", one) for one in sources]
    kinds = ("Words", "Lessons", "Checks", "On the web")
    return sorted(
        {one.target: one for one in found}.values(), key=lambda one: kinds.index(one.kind)
    )


def texts(lesson: Lesson, key: str) -> list[str]:
    """Return a list in the lesson's header."""
    found: Any = lesson.header.get(key)
    return [str(one) for one in cast("list[Any]", found)] if isinstance(found, list) else []


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


def read_glossary(folder: Path | None) -> dict[str, tuple[str, str]]:
    """Return the glossary of a folder of lessons: heading and meaning by anchor."""
    file = (folder or locations.content("lessons")) / GLOSSARY
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return {}
    entries = re.findall(r"^## (.+)\n+((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return {anchor(name): (name, meaning.strip()) for name, meaning in entries}
