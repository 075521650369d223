"""Markdown and code as lessons have them, in the colours of the theme."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy

from markdown_it import MarkdownIt
from markdown_it.token import Token as MarkdownToken
from pygments.token import Token
from rich.segment import Segment
from textual.content import Content
from textual.highlight import HighlightTheme, highlight
from textual.strip import Strip
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownParagraph  # not exported (8.2.8)
from textual.widgets.markdown import MarkdownFence

from tpustarter.invocation import as_typed
from tpustarter.tui.commands_in_text import with_whole_commands
from tpustarter.tui.tables import Table

KEPT = "\ue000"
"""Stands for a space at which a line is not broken; a no-break space is one, for Textual."""
MARKED = "underline on $fail-ground"
"""How a line of code is painted that a verdict is about, as editors do."""
MAX_WHOLE = 36
"""Characters of code in a text that stay on one line."""


class Colours(HighlightTheme):
    """Code in the colours of the theme."""

    STYLES = {  # noqa: RUF012  declared as Textual does
        Token.Comment: "italic $muted",
        Token.Keyword: "$keyword",
        Token.Literal.String: "$string",
        Token.String: "$string",
        Token.Literal.Number: "$number",
        Token.Number: "$number",
    }


def coloured(text: str, language: str = "python") -> Content:
    """Return code with its colours."""
    lexer = language.split(maxsplit=1)[0] if language.split() else "text"
    return highlight(text.rstrip("\n"), language=lexer, theme=Colours)


def marked(code: Content, rows: Collection[int], style: str = MARKED) -> Content:
    """Return code with some of its rows marked, from their first sign to their last."""
    start = 0
    for row, line in enumerate(code.plain.split("\n")):
        if row in rows:
            code = code.stylize(style, start + len(line) - len(line.lstrip()), start + len(line))
        start += len(line) + 1
    return code


class Fence(MarkdownFence):
    """Code in a lesson that is read and not run."""

    def __init__(self, markdown: Markdown, token: MarkdownToken, code: str) -> None:
        """Take code; a line that is too long goes on below, but for text, which may be drawn."""
        super().__init__(markdown, token, code)
        self.set_class(self.lexer.partition(" ")[0] not in ("", "text"), "-wraps")

    @classmethod
    def highlight(
        cls,
        code: str,
        language: str,
        ansi: bool = False,  # noqa: FBT001, FBT002  the signature of Textual
        dark: bool = False,  # noqa: FBT001, FBT002  the signature of Textual
    ) -> Content:
        """Return the code with the colours of the theme."""
        del ansi, dark
        return coloured(code, language)


class Paragraph(MarkdownParagraph):
    """A paragraph that keeps a short command on one line, to be read and copied whole."""

    def build_from_token(self, token: MarkdownToken) -> None:
        """Build it with the spaces in its code kept."""
        token_copy = copy(token)
        token_copy.children = [_keep_spaces(child) for child in token.children or ()]
        super().build_from_token(token_copy)

    def render_line(self, y: int) -> Strip:
        """Paint a line, with spaces for what stood for them."""
        strip = super().render_line(y)
        if KEPT not in strip.text:
            return strip
        segments = [
            Segment(segment.text.replace(KEPT, " "), segment.style, segment.control)
            for segment in strip
        ]
        return Strip(segments, strip.cell_length)


def _keep_spaces(token: MarkdownToken) -> MarkdownToken:
    if token.type != "code_inline" or len(token.content) > MAX_WHOLE:
        return token
    token_copy = copy(token)
    token_copy.content = token.content.replace(" ", KEPT)
    return token_copy


class LessonText(Markdown):
    """Markdown of a lesson or of a help text; the parser is the one lessons are checked with."""

    BLOCKS = {  # noqa: RUF012  declared as Textual does
        **Markdown.BLOCKS,
        "paragraph_open": Paragraph,
        "table_open": Table,
        "fence": Fence,
        "code_block": Fence,
    }

    def __init__(self, text: str, *, id: str | None = None, is_read: bool = False) -> None:  # noqa: A002  Textual's name
        """Take the text; where it `is_read`, its sentences name the program by its name."""
        typed = with_whole_commands(text) if is_read else as_typed(text)
        super().__init__(typed, id=id, parser_factory=_parser, open_links=False)


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")
