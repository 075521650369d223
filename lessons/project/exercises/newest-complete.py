"""Find the newest checkpoint that is complete.

A folder holds checkpoints, each in a folder that has its step as its name.
The process may have died at any moment, so not all of them are complete.
One is complete if it has the folders `state` and `data` and the file
`_CHECKPOINT_METADATA`. A folder such as `20.orbax-checkpoint-tmp` is one
that was being written.

`newest_complete` returns the step to resume from, or None if there is
none.
"""

import tempfile
from pathlib import Path

ITEMS = ("state", "data", "_CHECKPOINT_METADATA")


def newest_complete(folder):
    """Return the largest step whose checkpoint is complete, or None."""
    return int(max(path.name for path in folder.iterdir()))  # fix this


# Judged below: leave this part as it is.


def make(folder, name, items):
    for item in items:
        path = folder / name / item
        if item.startswith("_"):
            path.write_text("{}")
        else:
            path.mkdir(parents=True)


CASES = {
    "two that are complete": ({"5": ITEMS, "10": ITEMS}, 10),
    "9 and 10, of which 10 is newer": ({"9": ITEMS, "10": ITEMS}, 10),
    "no data in 15": ({"10": ITEMS, "15": ("state",)}, 10),
    "no metadata in 15": ({"10": ITEMS, "15": ITEMS[:2]}, 10),
    "20 being written": (
        {"15": ITEMS, "20.orbax-checkpoint-tmp": ITEMS},
        15,
    ),
    "another folder": ({"5": ITEMS, "logs": ITEMS}, 5),
    "step 0 only": ({"0": ITEMS}, 0),
    "nothing that is complete": ({"5": ("state",)}, None),
    "nothing at all": ({}, None),
}
for case, (checkpoints, expected) in CASES.items():
    with tempfile.TemporaryDirectory() as name:
        for step, items in checkpoints.items():
            make(Path(name), step, items)
        try:
            found = newest_complete(Path(name))
        except ValueError as error:
            found = f"ValueError: {error}"
    message = f"{case}: found {found}, expected {expected}"
    assert found == expected, message
print("the newest complete checkpoint is found in", len(CASES), "folders")
