"""Markdown and highlighted code of lessons, in the theme's colours."""

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
from textual.widgets.markdown import MarkdownFence

from tpustarter.text.invocation import format_commands
from tpustarter.tui.kit.tables import LessonTable
from tpustarter.tui.lesson.page.lesson_commands import adapt_fenced_commands
from tpustarter.tui.terminal.markdown_blocks import MarkdownParagraph

NO_BREAK_PLACEHOLDER = "\ue000"
"""A stand-in for a no-break space, because Textual breaks lines at the real one."""
MARKED = "underline on $fail-ground"
"""The style of code lines that a verdict refers to, like an error in an editor."""
MAX_WHOLE = 36
"""Maximum length of inline code that is kept on one line, in characters."""


class CodeColours(HighlightTheme):
    """The theme's colours for code."""

    STYLES = {  # noqa: RUF012  declared as Textual does
        Token.Comment: "italic $muted",
        Token.Keyword: "$keyword",
        Token.Literal.String: "$string",
        Token.String: "$string",
        Token.Literal.Number: "$number",
        Token.Number: "$number",
    }


def colour_code(text: str, language: str = "python") -> Content:
    """Return code with syntax highlighting."""
    lexer = language.split(maxsplit=1)[0] if language.split() else "text"
    return highlight(text.rstrip("\n"), language=lexer, theme=CodeColours)


def mark_rows(code: Content, rows: Collection[int], style: str = MARKED) -> Content:
    """Return code with some rows marked, without their indentation."""
    start = 0
    for row, line in enumerate(code.plain.split("\n")):
        if row in rows:
            code = code.stylize(style, start + len(line) - len(line.lstrip()), start + len(line))
        start += len(line) + 1
    return code


class CodeFence(MarkdownFence):
    """A lesson's code that is only shown, not run."""

    def __init__(self, markdown: Markdown, token: MarkdownToken, code: str) -> None:
        """Wrap long lines, except in plain text, which may be a drawing."""
        super().__init__(markdown, token, code)
        self.set_class(self.lexer.partition(" ")[0] not in ("", "text"), "-wraps")

    @classmethod
    def highlight(
        cls,
        code: str,
        language: str,
        ansi: bool = False,  # noqa: FBT001, FBT002  Textual's signature
        dark: bool = False,  # noqa: FBT001, FBT002  Textual's signature
    ) -> Content:
        del ansi, dark
        return colour_code(code, language)


class Paragraph(MarkdownParagraph):
    """A paragraph that keeps a short command on one line, so that it can be copied whole."""

    def build_from_token(self, token: MarkdownToken) -> None:
        token_copy = copy(token)
        token_copy.children = [_keep_spaces(child) for child in token.children or ()]
        super().build_from_token(token_copy)

    def render_line(self, y: int) -> Strip:
        """Render a line with spaces in place of `NO_BREAK_PLACEHOLDER`."""
        strip = super().render_line(y)
        if NO_BREAK_PLACEHOLDER not in strip.text:
            return strip
        segments = [
            Segment(segment.text.replace(NO_BREAK_PLACEHOLDER, " "), segment.style, segment.control)
            for segment in strip
        ]
        return Strip(segments, strip.cell_length)


def _keep_spaces(token: MarkdownToken) -> MarkdownToken:
    if token.type != "code_inline" or len(token.content) > MAX_WHOLE:
        return token
    token_copy = copy(token)
    token_copy.content = token.content.replace(" ", NO_BREAK_PLACEHOLDER)
    return token_copy


class LessonText(Markdown):
    """The Markdown of a lesson or a help text, parsed as in the lesson checks."""

    BLOCKS = {  # noqa: RUF012  declared as Textual does
        **Markdown.BLOCKS,
        "paragraph_open": Paragraph,
        "table_open": LessonTable,
        "fence": CodeFence,
        "code_block": CodeFence,
    }

    def __init__(self, text: str, *, id: str | None = None, is_read: bool = False) -> None:  # noqa: A002  Textual's name
        """Show a text; with `is_read`, `format_commands` is applied only to its code fences."""
        typed = adapt_fenced_commands(text) if is_read else format_commands(text)
        super().__init__(typed, id=id, parser_factory=_parser, open_links=False)


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")
