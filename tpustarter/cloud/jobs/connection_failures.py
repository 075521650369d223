"""Reasons for a failed or lost connection to a worker, from the last lines of gcloud or ssh.

Google's errors are in `failures.yml`; this module has those of OpenSSH and of gcloud itself.
Source: https://github.com/openssh/openssh-portable (sshconnect.c, sshconnect2.c, clientloop.c; read
2026-11).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.jobs.connection import KNOWN_HOSTS

NOT_REACHED = 255
"""Exit code of ssh, and therefore of gcloud, if it could not connect."""
_LINES = 12
"""Number of lines searched, from the end; earlier ones are the user's own output."""
_ERROR_WIDTH = 300
_GCLOUD_ERROR = re.compile(r"^ERROR: \(gcloud\.", re.MULTILINE)


@dataclass(frozen=True)
class ConnectionFailure:
    """The reason why a connection failed or was lost."""

    what: str
    """Text that follows the worker's name in a message."""
    fixes: tuple[str, ...] = ()
    """Remedies, most likely first; each is a sentence or a command."""


_OF_SSH = (
    (
        r"Permission denied \([^)\n]*publickey",
        ConnectionFailure(
            "was not reached: it accepts neither your key nor another way to log in",
            (
                "Connect once with `gcloud compute tpus tpu-vm ssh`, which adds your key to it.",
                "If you log in under another name there, add `--user NAME`.",
            ),
        ),
    ),
    (
        r"Host key verification failed|HOST IDENTIFICATION HAS CHANGED",
        ConnectionFailure(
            "was not reached: its host key is not the one that was stored",
            (f"If you know why it has changed, take the old one out of {KNOWN_HOSTS}.",),
        ),
    ),
    (
        r"port \d+: Connection refused|kex_exchange_identification|banner exchange",
        ConnectionFailure(
            "was not reached: it doesn't accept SSH connections",
            ("If the TPU was started a minute ago, wait another minute and try again.",),
        ),
    ),
    (
        r"Timeout, server \S+ not responding|Broken pipe|Connection (to \S+ )?(closed|reset) by",
        ConnectionFailure(
            "was lost: its connection ended while the command ran",
            (
                "tpustarter tpu list",
                "If the TPU is still READY, the command may still be running there.",
            ),
        ),
    ),
    (
        r"command group|gcloud components install alpha",
        ConnectionFailure(
            "was not reached: this gcloud lacks its alpha commands, which IAP needs",
            ("gcloud components install alpha",),
        ),
    ),
)


def explain_failure(code: int, tail: str) -> ConnectionFailure | None:
    """Return why a worker was not reached, or None if the command itself ended with this code.

    Args:
        code: The exit code of gcloud or ssh.
        tail: The end of the output, including the user's own.
    """
    of_gcloud = _GCLOUD_ERROR.search(tail)
    if code == 0 or (code != NOT_REACHED and not of_gcloud):
        return None
    text = "\n".join(tail.splitlines()[-_LINES:])
    problem = api_errors.make_cloud_problem(None, text, "")
    if problem.failure:
        what = problem.summary
        return ConnectionFailure(f"was not reached: {what}", problem.fixes)
    for pattern, reason in _OF_SSH:
        if re.search(pattern, text):
            return reason
    if code == NOT_REACHED:
        return ConnectionFailure(
            "ended with 255, which is what ssh ends with where it cannot connect"
        )
    error = tail[of_gcloud.start() :].splitlines()[0][:_ERROR_WIDTH] if of_gcloud else ""
    return ConnectionFailure(f"was not reached: gcloud ended with {code}: {error}")
