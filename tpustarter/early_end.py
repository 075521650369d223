"""What stands on stdout for a run that a signal ended before there was a result.

It imports nothing more, and is there before signals are followed: one may come at any import.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMAS = {"learn": "learn", "rehearse": "rehearsal", "setup": "setup"}
"""What a command prints with `--json`; a report where it is not here."""


def schema_of(words: Sequence[str]) -> str:
    """Return the name of the document that a command line asks for with `--json`."""
    command = next((word for word in words if word in SCHEMAS), "")
    return f"tpustarter.{SCHEMAS.get(command, 'report')}/1"


def output(words: Sequence[str], code: int) -> str:
    """Return a line where the command line asks for JSON, and nothing otherwise."""
    if not {"--json", "--ndjson"} & {*words}:
        return ""
    event = '"event": "error", ' if "--ndjson" in words else ""
    what = "stopped by a signal before there was a result"
    return (
        f'{{{event}"schema": "{schema_of(words)}", "error": {{"what": "{what}", "hint": null}}, '
        f'"exit_code": {code}}}\n'
    )
