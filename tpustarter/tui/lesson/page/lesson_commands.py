"""Commands in a lesson's text: complete in code fences, and short in sentences.

The command that starts the program may be long, such as `python3 -m uv run tpustarter`, and would
make a sentence hard to read. So sentences use the name `tpustarter` alone, and the lesson explains
once how to type it. Lists of commands, such as the help, use the short name as well, because the
long command would hide their differences.
"""

from __future__ import annotations

import re

from tpustarter.text.invocation import NAME, format_commands, tpustarter_command

TYPED = "To run such a command here, type `{}` in place of `{}`."
"""Shown below the lesson's first paragraph that contains a command."""
IN_SHELL = "In a shell, type `{}` in place of `{}`."
"""Shown once above a list of keys or actions with short commands."""
_FENCE = re.compile(r"^ *```.*?^ *```\s*$", re.MULTILINE | re.DOTALL)
_IN_SENTENCE = re.compile(rf"`{NAME}\s[^`]+`")
_GOES_ON = re.compile(r"[ *>|-]|\d+\. ")
"""The start of a line that continues the text above it even after an empty line, as in a list."""


def adapt_fenced_commands(text: str) -> str:
    """Return Markdown whose fenced commands work as shown when typed on this machine."""
    return _FENCE.sub(lambda fence: format_commands(fence[0]), text)


def describe_shell() -> str:
    """Explain how to type the commands of a list; return "" if the short name works."""
    return "" if tpustarter_command() == NAME else IN_SHELL.format(tpustarter_command(), NAME)


def split_at_command(text: str) -> tuple[str, str, str] | None:
    """Split Markdown after the paragraph with the first command.

    Returns:
        The text up to that paragraph, a note on how to type the command, and the remaining text.
        None if no sentence contains a command, or if the short name works.
    """
    without_fences = _FENCE.sub(lambda fence: " " * len(fence[0]), text)
    found = _IN_SENTENCE.search(without_fences)
    if found is None or tpustarter_command() == NAME:
        return None
    end = text.find("\n\n", found.end())
    while end >= 0 and _GOES_ON.match(text[end:].lstrip("\n")):
        end = text.find("\n\n", end + 2)
    end = end if end >= 0 else len(text)
    return text[:end], TYPED.format(tpustarter_command(), NAME), text[end:].strip("\n")
