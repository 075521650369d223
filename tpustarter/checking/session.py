"""How probes are started for one framework: interpreter, environment, lease, log."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tpustarter.checking.results import Result
from tpustarter.problem import Problem
from tpustarter.redact import Redactor
from tpustarter.running.process import CappedLog, Event, Probe

TOO_OLD = 64
"""Exit status of the probe under a Python older than 3.10, see `probe/zip_main.py`."""


@dataclass
class Session:
    """How probes are started for one framework: interpreter, environment, lease."""

    python: Path
    archive: Path
    folder: Path
    env: Mapping[str, str]
    target: Mapping[str, Any]
    redact: Redactor
    drop: tuple[int, int] | None = None
    lease: int | None = None
    isolate: bool = False
    results: dict[str, Result] = field(default_factory=dict[str, Result])
    """What earlier checks of the run came to, for `AFTER`."""


def start(
    session: Session, extra: Mapping[str, str] = MappingProxyType({}), *, stream: bool = False
) -> tuple[Probe, CappedLog]:
    """Start a probe of a session, and tell it the target; returns it with its log.

    Raises:
        Problem: the interpreter cannot be started.
    """
    try:
        log = CappedLog(_fresh_log(session.folder))
    except OSError as error:
        raise Problem(f"cannot write to `{session.folder}`: {error.strerror}") from error
    try:
        probe = Probe(
            session.python,
            session.archive,
            log,
            env={**session.env, **extra},
            drop=session.drop,
            lease=session.lease,
            stream=stream,
        )
    except OSError as error:
        log.close()
        raise Problem(f"cannot start `{session.python}`: {error.strerror}") from error
    probe.send({"do": "target", **session.target})
    return probe, log


def _fresh_log(folder: Path) -> Path:
    """Make and return a log file that no other thread uses."""
    number = len(list(folder.glob("probe-*.log")))
    while True:
        path = folder / f"probe-{number}.log"
        with contextlib.suppress(FileExistsError):
            path.touch(exist_ok=False)
            return path
        number += 1


def no_python(python: Path, gone: Event | None, output: str) -> Problem:
    """Say why an interpreter never told its version."""
    last = output.strip().splitlines()[-1:] or ["it said nothing"]
    if gone and gone["exit"] == TOO_OLD:
        return Problem(
            f"`{python}` is too old: found {last[0]}, expected 3.10 or newer",
            hint="name another with `--python PATH`",
            read="setup/python-and-environments",
        )
    return Problem(
        f"`{python}` did not answer as a Python would: {last[0][:200]}",
        hint="name another with `--python PATH`",
        read="setup/python-and-environments",
    )
