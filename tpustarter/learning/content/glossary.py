"""The glossary of the lessons' terms."""

from __future__ import annotations

import re
from pathlib import Path

from tpustarter.core import locations
from tpustarter.learning.content.markdown import heading_anchor

FILE = "glossary.md"


def read_glossary(folder: Path | None = None) -> dict[str, tuple[str, str]]:
    """Return each glossary term's heading and meaning, keyed by the heading's anchor."""
    file = (folder or locations.content_folder("lessons")) / FILE
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return {}
    entries = re.findall(r"^## (.+)\n+((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return {heading_anchor(name): (name, meaning.strip()) for name, meaning in entries}


def format_glossary_target(word: str) -> str:
    """Return the tail of a Markdown link to a glossary term, given its anchor."""
    return f"{FILE}#{word})"
