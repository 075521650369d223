"""The one exception shown to users, and the exit codes.

It is imported before signals are handled, so it imports nothing slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of all commands; `checking/results/verdict.py` chooses that of a check."""

    OK = 0
    """The verdict is healthy, or degraded without `--fail-on warn`."""
    FAILED = 1
    """At least one required check failed."""
    USAGE = 2
    """The command line is invalid."""
    INCONCLUSIVE = 3
    """Nothing failed, but a required check has no verdict."""
    SOFT = 4
    """Warnings only, and `--fail-on warn` was given."""
    NOTHING_VERIFIED = 5
    """No claim was verified."""
    NO_DEVICE = 69
    """The device required by `--require` is missing."""
    BUG = 70
    """A bug in tpustarter."""
    LIMIT = 71
    """This machine's limit on processes, threads, open files or memory is reached."""
    OUTPUT = 74
    """The output could not be written to stdout or to a file that the user named."""
    BUSY = 75
    """The device is in use; try again."""
    DENIED = 77
    """No permission to open the device."""
    CONFIGURATION = 78
    """A check, lesson or state file cannot be read."""
    NOT_EXECUTABLE = 126
    """The command given to `run` cannot be started; shells use the same code."""
    NOT_FOUND = 127
    """The command given to `run` does not exist; shells use the same code."""
    INTERRUPTED = 130
    """Ctrl-C, or SIGINT."""
    PIPE = 141
    """The reader of stdout closed it before the end, as `head` does."""
    TERMINATED = 143
    """SIGTERM or SIGHUP."""


class Problem(Exception):  # noqa: N818  a central word of this project
    """An error that the user can act on: what is wrong, what to do, where to read more."""

    def __init__(
        self,
        summary: str,
        *,
        detail: str = "",
        hint: str | None = None,
        read: str | None = None,
        code: ExitCode = ExitCode.CONFIGURATION,
    ) -> None:
        from tpustarter.text.terminal import escape_text

        super().__init__(summary)
        self.summary = escape_text(summary)
        """The problem as one line, with found and expected; lowercase, no full stop."""
        self.detail = detail
        """Further lines, such as a service's error text; often empty."""
        self.hint = hint
        """One command or sentence for the user to follow."""
        self.read = read
        """A lesson to read, as `track/id`."""
        self.code = code

    @property
    def full_text(self) -> str:
        """The summary, followed by the detail if there is one."""
        return f"{self.summary}\n{self.detail}" if self.detail else self.summary

    def __str__(self) -> str:
        return format_error(self.full_text, self.hint, self.read)


def format_error(what: str, hint: str | None, read: str | None = None) -> str:
    """Return an error as users see it, with commands that work in this folder."""
    from tpustarter.text.invocation import format_commands

    lines = [f"error: {what}"]
    if hint:
        lines += ["", f"hint: {hint}"]
    if read:
        lines += [f"read: `tpustarter learn {read}`"]
    return format_commands("\n".join(lines))


def find_problem(error: BaseException) -> Problem | None:
    """Return the Problem for an error that the user or this machine caused, or None for a bug."""
    return find_limit_problem(error) or find_name_problem(error)


def find_name_problem(error: BaseException) -> Problem | None:
    """Return the Problem for a file name that the system refuses, or None for another error.

    `pathlib` raises for such a name even if it only tests whether the file exists.
    """
    import errno
    import os

    unusable = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP)
    if not isinstance(error, OSError) or error.errno not in unusable or error.filename is None:
        return None
    name = os.fsdecode(error.filename)
    return Problem(f"`{name}` cannot be looked up: {error.strerror}", code=ExitCode.USAGE)


def find_limit_problem(error: BaseException) -> Problem | None:
    """Return the Problem for an error caused by a limit of this machine, or None for others."""
    from tpustarter.machine import reached_limits

    limit = reached_limits.find_limit(error)
    return Problem(limit.what, hint=limit.hint, code=ExitCode.LIMIT) if limit else None


SCHEMAS = {
    "explain": "explain",
    "learn": "learn",
    "plan": "plan",
    "rehearse": "rehearsal",
    "report": "bug-report",
    "setup": "setup",
    "tpu": "tpus",
    "trc": "trc",
    "watch": "watch",
}
"""Schema of the document that a command prints with `--json`; `report` for those not listed."""
VERB_SCHEMAS = {
    "zones": "offers",
    "types": "offers",
    "versions": "offers",
    "cost": "cost",
    "doctor": "doctor",
    "job": "jobs",
}
"""Schema of a `tpu` subcommand's document, if it differs."""


def find_schema_name(words: Sequence[str]) -> str:
    """Return the schema name of the document that a command line prints with `--json`."""
    command = next((word for word in words if word in SCHEMAS), "")
    name = SCHEMAS.get(command, "report")
    if command == "tpu":
        name = VERB_SCHEMAS.get("".join(words[words.index(command) + 1 :][:1]), name)
    if command == "learn" and any(word.startswith("--search") for word in words):
        name = "search"
    if command == "report" and "--compare" in words:
        name = "bug-report-comparison"
    return f"tpustarter.{name}/1"


def wants_json(words: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON; the words after `--` are another command's."""
    ours = words[: [*words, "--"].index("--")]
    return bool({"--json", "--ndjson"} & {*ours}) and words[0] != "run"


def format_interrupted_output(words: Sequence[str], code: int) -> str:
    """Return the stdout of a run that a signal ended before it had a result.

    It is a line of JSON if the command line asks for JSON, otherwise empty.
    """
    if not wants_json(words):
        return ""
    event = '"event": "error", ' if "--ndjson" in words else ""
    what = "stopped by a signal before there was a result"
    return (
        f'{{{event}"schema": "{find_schema_name(words)}", '
        f'"error": {{"what": "{what}", "hint": null}}, "exit_code": {code}}}\n'
    )
