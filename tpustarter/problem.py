"""The one exception shown to users, and what the exit codes mean.

It is imported before signals are followed, so it imports nothing that takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command; higher up in `checking/verdict.py` is how one is chosen."""

    OK = 0
    """The verdict is healthy, or degraded and nobody asked for more."""
    FAILED = 1
    """At least one required check failed."""
    USAGE = 2
    """The command line cannot be followed."""
    INCONCLUSIVE = 3
    """Nothing failed, but a required check has no verdict."""
    SOFT = 4
    """Soft problems only, and `--fail-on warn` was given."""
    NOTHING_VERIFIED = 5
    """Nothing was verified."""
    NO_DEVICE = 69
    """The device asked for with `--require` is not there."""
    BUG = 70
    """tpustarter itself broke."""
    LIMIT = 71
    """This machine allows no more processes, threads, open files or memory."""
    OUTPUT = 74
    """What there was to say could not be written, to stdout or to a file the user named."""
    BUSY = 75
    """The device is in use; try again."""
    DENIED = 77
    """No permission on the device."""
    CONFIGURATION = 78
    """A check, lesson or state file cannot be read."""
    INTERRUPTED = 130
    """Ctrl-C, or SIGINT."""
    PIPE = 141
    """Whoever read stdout closed it before the end, as `head` does."""
    TERMINATED = 143
    """SIGTERM or SIGHUP."""


class Problem(Exception):  # noqa: N818  one of the five words of this project
    """Something the user can act on: what is wrong, what to do, where to read."""

    def __init__(
        self,
        what: str,
        *,
        hint: str | None = None,
        read: str | None = None,
        code: ExitCode = ExitCode.CONFIGURATION,
    ) -> None:
        super().__init__(what)
        self.what = what
        """What is, with found and expected; lowercase, no full stop."""
        self.hint = hint
        """One command or one sentence that can be followed."""
        self.read = read
        """A lesson, `track/id`."""
        self.code = code

    def __str__(self) -> str:
        """Return the text as users see it, with commands that work here."""
        from tpustarter.invocation import as_typed

        lines = [f"error: {self.what}"]
        if self.hint:
            lines += ["", f"hint: {self.hint}"]
        if self.read:
            lines += [f"read: `tpustarter learn {self.read}`"]
        return as_typed("\n".join(lines))


def of_limit(error: BaseException) -> Problem | None:
    """Return a limit of this machine that is behind an error; None for any other error."""
    from tpustarter.machine import limits

    limit = limits.behind(error)
    return Problem(limit.what, hint=limit.hint, code=ExitCode.LIMIT) if limit else None


SCHEMAS = {
    "explain": "explain",
    "learn": "learn",
    "rehearse": "rehearsal",
    "report": "bug-report",
    "setup": "setup",
    "tpu": "tpus",
    "trc": "trc",
}
"""What a command prints with `--json`; a report where it is not here."""
VERB_SCHEMAS = {"zones": "offers", "types": "offers", "versions": "offers", "cost": "cost",
                "doctor": "doctor"}  # fmt: skip
"""What a verb of `tpu` prints, where that is another document."""


def schema_of(words: Sequence[str]) -> str:
    """Return the name of the document that a command line asks for with `--json`."""
    command = next((word for word in words if word in SCHEMAS), "")
    name = SCHEMAS.get(command, "report")
    if command == "tpu":
        name = VERB_SCHEMAS.get("".join(words[words.index(command) + 1 :][:1]), name)
    if command == "report" and "--compare" in words:
        name = "bug-report-comparison"
    return f"tpustarter.{name}/1"


def wants_json(words: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON; what follows `run` is another's command line."""
    return bool({"--json", "--ndjson"} & {*words}) and words[0] != "run"


def early_end(words: Sequence[str], code: int) -> str:
    """Return what stands on stdout for a run that a signal ended before there was a result.

    It is a JSON line where the command line asks for JSON, and nothing otherwise.
    """
    if not wants_json(words):
        return ""
    event = '"event": "error", ' if "--ndjson" in words else ""
    what = "stopped by a signal before there was a result"
    return (
        f'{{{event}"schema": "{schema_of(words)}", "error": {{"what": "{what}", "hint": null}}, '
        f'"exit_code": {code}}}\n'
    )
