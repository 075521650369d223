"""Text for a duration; at this level because a check that travels with the probe uses it."""

from __future__ import annotations


def format_duration(seconds: float) -> str:
    """Return a duration in at most two units: `45 s`, `3 h 10 min`, `2 days 4 h`."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if minutes < 1:
        return f"{max(0, int(seconds))} s"
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        rest = minutes % 60
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    rest = hours % 24
    unit = "day" if days == 1 else "days"
    return f"{days} {unit} {rest} h" if rest else f"{days} {unit}"
