"""Hints about the shell's variables, as the app shows them.

The app gets the variables when it starts, so a change in the shell does not reach it.
"""

from __future__ import annotations

from tpustarter.probe.finding import Hint


def format_hint(hint: Hint) -> str:
    """Rewrite a hint about shell variables for a user who is in the app."""
    if (hint.command or "").startswith("unset "):
        return f"{hint}; leave tpustarter with q for that, and start it again"
    return hint
