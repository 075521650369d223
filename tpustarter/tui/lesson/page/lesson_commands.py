"""The commands in a lesson's text: whole in a fence, and by the program's name in a sentence.

The command that starts the program may be long, as `python3 -m uv run tpustarter` is, and a
sentence with it is hard to read. So the lesson explains once how to type such a command. Lists of
commands, such as help, also use the short name, because the long one would hide the word in which
they differ.
"""

from __future__ import annotations

import re

from tpustarter.text.invocation import NAME, format_commands, program_command

TYPED = "To run such a command here, type `{}` in place of `{}`."
"""Shown below the first sentence of a lesson that has a command."""
IN_SHELL = "In a shell, type `{}` in place of `{}`."
"""Shown once above a list of keys or actions, whose commands are short."""
_FENCE = re.compile(r"^ *```.*?^ *```\s*$", re.MULTILINE | re.DOTALL)
_IN_SENTENCE = re.compile(rf"`{NAME}\s[^`]+`")
_GOES_ON = re.compile(r"[ *>|-]|\d+\. ")
"""The beginning of a line that belongs to the text above it, such as a list, even after an empty
line."""


def complete_commands(text: str) -> str:
    """Return Markdown with its fenced commands as they must be typed on this machine."""
    return _FENCE.sub(lambda fence: format_commands(fence[0]), text)


def describe_shell() -> str:
    """Return a note on how to type the commands of a list, or "" if the name starts them."""
    return "" if program_command() == NAME else IN_SHELL.format(program_command(), NAME)


def split_at_command(text: str) -> tuple[str, str, str] | None:
    """Split Markdown after the paragraph with the first command: above, note on typing it, rest.

    None if no sentence has a command, or if the program's name alone starts it.
    """
    without_fences = _FENCE.sub(lambda fence: " " * len(fence[0]), text)
    found = _IN_SENTENCE.search(without_fences)
    if found is None or program_command() == NAME:
        return None
    end = text.find("\n\n", found.end())
    while end >= 0 and _GOES_ON.match(text[end:].lstrip("\n")):
        end = text.find("\n\n", end + 2)
    end = end if end >= 0 else len(text)
    return text[:end], TYPED.format(program_command(), NAME), text[end:].strip("\n")
