"""libtpu can write its log files."""

from __future__ import annotations

import os

from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "trouble/logs-and-stack-traces"
SOURCE = "https://github.com/skypilot-org/skypilot/pull/3947"
OPTIONAL = True

USUAL = "/tmp/tpu_logs"  # noqa: S108 -- where libtpu writes unless told otherwise; only looked at


def run(machine: host.Machine | None = None):
    """Look at the folder, which the first user, often root, creates without access for others.

    libtpu creates a missing folder, but not a missing parent of it (tried with libtpu 0.0.50.1).
    """
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    folder = machine.env.get("TPU_LOG_DIR") or USUAL
    name = USUAL if folder == USUAL else "the folder in TPU_LOG_DIR"
    if not folder.startswith("/"):
        actual = "logs are disabled" if folder == "disabled" else "a relative path"
        yield Finding("HOST-LOGS-FOLDER", "TPU_LOG_DIR", "info", actual)
        return
    exists = machine.read_status(folder)
    path = folder if exists else folder.rstrip("/").rpartition("/")[0] or "/"
    status = machine.read_status(path)
    writable = status is not None and machine.has_access(path, os.W_OK)
    owner = "no parent folder"
    if status:
        owner = f"a folder of user {machine.user_name(status.st_uid)}"
        owner = owner if exists else f"doesn't exist, and its parent is {owner}"
    yield Finding(
        code="HOST-LOGS-FOLDER",
        name=name,
        verdict="ok" if writable else "warn",
        found=("writable" if exists else "not there yet") if writable else owner,
        expected=None
        if writable
        else "a folder that this user may write to; otherwise logs are lost",
        entity=USUAL if folder == USUAL else None,
        hint=None if writable else Hint.run("export TPU_LOG_DIR=$HOME/tpu_logs"),
    )
