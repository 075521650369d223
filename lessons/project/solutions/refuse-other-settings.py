"""Read the file before you write it. Which names do you have to compare, if
one of the two dictionaries can have more than the other?

`saved.keys() | settings.keys()` has all names, and `- MAY_CHANGE` leaves
out those that do not matter.

`.get(name)` returns None for a name that is missing, which is a difference
as well.

Learned: A position is worth something only together with the settings that
give it a meaning, so a program compares them before it continues.
"""

import json
import tempfile
from pathlib import Path

MAY_CHANGE = {"steps", "hosts"}


def check_settings(folder, settings):
    """Write or compare the settings of a run."""
    path = folder / "settings.json"
    if path.exists():
        saved = json.loads(path.read_text())
        names = (saved.keys() | settings.keys()) - MAY_CHANGE
        differences = [
            f"{name} was {saved.get(name)} and is {settings.get(name)}"
            for name in sorted(names)
            if saved.get(name) != settings.get(name)
        ]
        if differences:
            message = "this run has other settings: "
            raise ValueError(message + ", ".join(differences))
    path.write_text(json.dumps(settings))
