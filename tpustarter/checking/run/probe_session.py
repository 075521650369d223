"""Starting a framework's probes: interpreter, environment, lease and log."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tpustarter.checking.results.results import Result
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem, find_limit_problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import frameworks, host, reached_limits
from tpustarter.probe.commands import ProbeTargetFields
from tpustarter.running.process import CappedLog, Probe, ProbeGoneEvent

TOO_OLD = 64
"""Exit status of the probe in a Python older than 3.10, see `probe/zip_main.py`."""


@dataclass
class ProbeSession:
    """The interpreter, environment and lease for starting a framework's probes."""

    python: Path
    archive: Path
    folder: Path
    env: Mapping[str, str]
    target: ProbeTargetFields
    redact: Redactor
    drop: tuple[int, int] | None = None
    lease: int | None = None
    isolate: bool = False
    settings: tuple[str, ...] = ()
    """The user's variables in `env` that change the framework's behaviour."""
    program_store: Path | None = None
    """The folder for compiled programs, which later runs load; None to compile every program."""
    stored_programs: int = 0
    """Programs loaded from it so far."""
    results: dict[str, Result] = field(default_factory=dict[str, Result])
    """Results of the run's earlier checks, for `AFTER`."""


def find_program_store() -> Path | None:
    """Return the folder for compiled programs; None without a state folder."""
    with contextlib.suppress(Problem):
        return locations.make_state_folder() / "programs"
    return None


def start_probe(
    session: ProbeSession,
    extra: Mapping[str, str] = MappingProxyType({}),
    *,
    stream: bool = False,
    with_settings: bool = True,
) -> tuple[Probe, CappedLog]:
    """Start a session's probe, send it the target, and return it with its log.

    Args:
        session: The interpreter, environment and lease.
        extra: Extra environment variables, such as a check's `ENV`.
        stream: True to read its output as it arrives.
        with_settings: True to keep the user's settings in its environment.

    Raises:
        Problem: The log cannot be written, or the interpreter cannot be started.
    """
    try:
        log = CappedLog(_fresh_log(session.folder))
    except OSError as error:
        problem = Problem(f"cannot write to `{session.folder}`: {error.strerror}")
        raise find_limit_problem(error) or problem from error
    env = session.env
    if not with_settings:
        env = frameworks.remove_behaviour_variables(env, session.settings)
    try:
        probe = Probe(
            session.python,
            session.archive,
            log,
            env={**env, **extra},
            drop=session.drop,
            lease=session.lease,
            stream=stream,
        )
    except OSError as error:
        log.close()
        problem = Problem(f"cannot start `{session.python}`: {error.strerror}")
        raise find_limit_problem(error) or problem from error
    send_target(probe, session)
    return probe, log


def send_target(probe: Probe, session: ProbeSession) -> None:
    """Send a probe its session's target, replacing any sent before."""
    probe.send({"do": "target", **session.target})


def _fresh_log(folder: Path) -> Path:
    number = len(list(folder.glob("probe-*.log")))
    while True:
        path = folder / f"probe-{number}.log"
        with contextlib.suppress(FileExistsError):
            path.touch(exist_ok=False)
            return path
        number += 1


def explain_unusable_python(
    python: Path,
    gone: ProbeGoneEvent | None,
    output: str,
    *,
    waited_s: float | None = None,
    option: str = "--python",
) -> Problem:
    """Return the Problem for an interpreter that did not report its version.

    Args:
        python: The interpreter.
        gone: The event with which it ended, if it did.
        output: Its output.
        waited_s: Seconds after which it was stopped for not responding; None if it ended by itself.
        option: The option that selects another interpreter.
    """
    if limit := reached_limits.find_limit_in_text(output):
        return Problem(limit.what, hint=limit.hint, code=ExitCode.LIMIT)
    line = _telling_line(output)
    hint = f"name another Python with `{option} PATH`"
    if waited_s is not None:
        what = f"`{python}` hangs: it did not answer within {waited_s:g} s"
        what += f", and said: {line}" if output.strip() else ""
    elif gone and gone["exit"] == TOO_OLD:
        what = f"`{python}` is too old: found {line}, expected 3.10 or newer"
    elif "Unknown option: -I" in output:
        what = f"`{python}` is Python 2, expected 3.10 or newer"
    elif "Fatal Python error" in output:
        what = f"`{python}` cannot start: {line}"
        home = re.search(r"PYTHONHOME = '?([^'\n]+)'?$", output, re.MULTILINE)
        if home and home[1] != "(not set)":
            what += f"; PYTHONHOME is `{home[1]}`"
            hint = "run `unset PYTHONHOME`, then run the command again"
    else:
        what = f"`{python}` did not answer as a Python would: {line}"
    return Problem(what, hint=hint, read="setup/python-and-environments")


def _telling_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()] or ["it said nothing"]
    fatal = [line for line in lines if line.startswith("Fatal Python error")]
    is_traceback = any(line.startswith("Traceback") for line in lines)
    return host.clean_text((fatal or (lines[-1:] if is_traceback else lines))[0])
