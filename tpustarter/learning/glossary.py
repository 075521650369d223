"""The glossary: what the terms of the lessons mean."""

from __future__ import annotations

import re
from pathlib import Path

from tpustarter import locations
from tpustarter.learning.markdown import anchor

FILE = "glossary.md"


def read(folder: Path | None = None) -> dict[str, tuple[str, str]]:
    """Return the glossary of a folder of lessons: heading and meaning by anchor."""
    file = (folder or locations.content("lessons")) / FILE
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return {}
    entries = re.findall(r"^## (.+)\n+((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return {anchor(name): (name, meaning.strip()) for name, meaning in entries}


def link(word: str) -> str:
    """Return how the link of a lesson to a word ends, by the word's anchor."""
    return f"{FILE}#{word})"
