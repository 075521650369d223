"""Markdown and code as lessons have them, in the terminal's own colours."""

from __future__ import annotations

from markdown_it import MarkdownIt
from pygments.token import Token
from textual.content import Content
from textual.highlight import HighlightTheme, highlight
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownFence


class Colours(HighlightTheme):
    """Code in the terminal's own colours, on light and dark alike."""

    STYLES = {  # noqa: RUF012  declared as Textual does
        Token.Comment: "dim italic",
        Token.Keyword: "ansi_magenta",
        Token.Literal.String: "ansi_green",
        Token.String: "ansi_green",
        Token.Literal.Number: "ansi_cyan",
        Token.Number: "ansi_cyan",
    }


def coloured(text: str, language: str = "python") -> Content:
    """Return code with its colours."""
    known = language.split(maxsplit=1)[0] if language.split() else "text"
    return highlight(text.rstrip("\n"), language=known, theme=Colours)


class Fence(MarkdownFence):
    """Code in a lesson that is read and not run."""

    @classmethod
    def highlight(
        cls,
        code: str,
        language: str,
        ansi: bool = False,  # noqa: FBT001, FBT002  the signature of Textual
        dark: bool = False,  # noqa: FBT001, FBT002  the signature of Textual
    ) -> Content:
        """Return the code in the terminal's own colours."""
        del ansi, dark
        return coloured(code, language)


class LessonText(Markdown):
    """Markdown of a lesson or of a help text; the parser is the one lessons are checked with."""

    BLOCKS = {  # noqa: RUF012  declared as Textual does
        **Markdown.BLOCKS,
        "fence": Fence,
        "code_block": Fence,
    }

    def __init__(self, text: str, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(text, id=id, parser_factory=_parser, open_links=False)


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")
