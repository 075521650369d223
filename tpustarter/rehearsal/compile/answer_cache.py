"""A cache of the TPU compiler's answers, one file each.

A file's name is a hash of everything that determines the answer (`probe.rehearse.rehearsal`), so a
file is never out of date. An unreadable file is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from tpustarter.core import locations
from tpustarter.rehearsal.result_fields import ResultFields

MOST = 4000
"""Most answers that are kept, of some kilobytes each; the oldest are deleted first."""
_NOT_KEPT = ("seconds", "cached", "program", "check", "tpu", "key", "notes", "work")


def make_cache_folder() -> Path:
    """Return the folder of answers; create it if it is missing, and delete surplus answers."""
    rehearsals = locations.make_folder(locations.make_state_folder() / "rehearsals")
    answers = list(rehearsals.glob("*.json"))
    if len(answers) > MOST:
        with contextlib.suppress(OSError):  # another rehearsal may delete them as well
            answers.sort(key=lambda path: path.stat().st_mtime)
            for path in answers[: len(answers) - MOST]:
                path.unlink(missing_ok=True)
    return rehearsals


def save_compiler_answer(result: ResultFields) -> None:
    """Save an answer; a full disk is not an error."""
    key = result.get("key")
    if result["cached"] or not key or result["status"] == "error":
        return
    fields = {name: value for name, value in result.items() if name not in _NOT_KEPT}
    path = locations.make_state_folder() / "rehearsals" / f"{key}.json"
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(exist_ok=True)
        part.write_text(json.dumps(fields), encoding="utf-8")
        locations.chown_to_caller(part)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
