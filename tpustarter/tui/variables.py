"""Advice to change the shell's variables: they reach the app when it is started, and not before."""

from __future__ import annotations

import re

_UNSETS = re.compile(r"(?:\brun )?(`unset [^`]+`)")


def in_app(advice: str) -> str:
    """Return advice as it is followed while the app runs."""
    return _UNSETS.sub(r"leave tpustarter with q, run \1 and start it again", advice)
