"""The learner's own editor: the one that is configured, or one that is here."""

from __future__ import annotations

import os
import shlex
import shutil

EDITORS = ("nano", "vim", "vi")
"""What is opened where neither VISUAL nor EDITOR says; nano shows its keys."""


def editor() -> list[str] | None:
    """Return the command of the learner's editor, or of one that is here; None without any."""
    configured = [os.environ.get(name, "") for name in ("VISUAL", "EDITOR")]
    commands = [*filter(None, map(_words, configured)), *([name] for name in EDITORS)]
    return next((words for words in commands if shutil.which(words[0])), None)


def _words(command: str) -> list[str]:
    """Return the words of a command; none for one that no shell could read."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
