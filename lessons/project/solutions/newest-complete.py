"""`max` of names compares text, and "9" is larger than "10". What do you have
to compare instead?

`name.isdigit()` is true for the names that are steps. Convert them with
`int` after that.

`all((path / item).exists() for item in ITEMS)` says whether one is
complete, and `max(steps, default=None)` takes care of an empty folder.

Learned: A checkpoint counts only if every part of it is there, which is why
libraries give it its final name last.
"""

import tempfile
from pathlib import Path

ITEMS = ("state", "data", "_CHECKPOINT_METADATA")


def newest_complete(folder):
    """Return the largest step whose checkpoint is complete, or None."""
    steps = [
        int(path.name)
        for path in folder.iterdir()
        if path.name.isdigit()
        and all((path / item).exists() for item in ITEMS)
    ]
    return max(steps, default=None)
