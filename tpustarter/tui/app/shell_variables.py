"""Hints about shell variables, adapted to the app.

The app reads the environment when it starts, so later changes in the shell do not affect it.
"""

from __future__ import annotations

from tpustarter.probe.finding import Hint


def add_restart_hint(hint: Hint) -> str:
    """Extend a hint to unset a shell variable, because the app must be restarted."""
    if (hint.command or "").startswith("unset "):
        return f"{hint}; leave tpustarter with q for that, and start it again"
    return hint
