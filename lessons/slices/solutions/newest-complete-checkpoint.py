"""A step is complete when every host's file is there under its final name.
Which names do you expect?

`(folder / f"step-{step}" / f"host-{host}.npz").exists()` for each host in
`range(hosts)`. That ignores unfinished parts and other files.

Take the steps as numbers, because as texts "step-90" comes after
"step-100". `path.name.removeprefix("step-")` is a number only where
`.isdigit()` says so, and `max(steps, default=None)` allows for none.

Learned: A checkpoint of several hosts counts only when all of its parts are
finished, so a restart takes the newest complete step.
"""

import tempfile
from pathlib import Path


def newest_complete(folder, hosts):
    """Return the step to continue from, as an int, or None."""
    complete = []
    for path in folder.glob("step-*"):
        number = path.name.removeprefix("step-")
        names = [f"host-{host}.npz" for host in range(hosts)]
        if number.isdigit() and all((path / name).exists() for name in names):
            complete.append(int(number))
    return max(complete, default=None)
