"""Runs the lanes of the gate, and ends with the README's own test command.

    .ci/run             all of them
    .ci/run LANE ...    some of them

`TPUSTARTER_GATE=whole` leaves no lane out, and compiles with full effort for every TPU, and lessons
as for users. Standard library only, for nothing is installed yet.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.lanes import LANES, Lane

AT_ONCE = 2
"""Lanes that share the cores: one computes while the other waits or has one test left."""
SLOW = 1.5
"""So many times the seconds of the table, for each lane that shares the cores, and a lane is named
at the end."""
PYTEST_INI = """[pytest]
timeout = 600
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
"""
"""Settings of pytest away from the checkout."""
BEGIN_S = 45 * 60
"""No lane begins later, so that a machine of a third of the speed comes to the README's command
within 90 minutes; what has not begun is named as not run."""
END_S = 65 * 60
"""A lane that has not ended by then is ended, and named."""
WEEK_S = 7 * 24 * 3600
DURATION = re.compile(r"^ *(\d+\.\d+)s (?:call|setup|teardown) +(\S+)", re.MULTILINE)
LAST_WORDS = re.compile(r"^=+ .*(passed|failed|error|no tests ran).* =+$|^\d+ (passed|failed).*$")
GREEN = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tpustarter-gate.json"
"""The commit with which each lane was last green on this machine, and when."""
RUNNING: set[int] = set()
"""Processes of lanes, each with a group of its own."""
BEGAN = time.monotonic()
ENDED = threading.Event()
"""The gate ends, and begins no other lane: it was done, or got Ctrl-C."""


@dataclass
class Run:
    """A lane that was run, or left out."""

    lane: Lane
    log: Path
    code: int | None = None
    seconds: float = 0.0
    cpu_s: float = 0.0
    """Seconds of the processor, of it and all that it waited for."""
    left_out: str = ""
    """The reason why it need not run."""
    unfinished: str = ""
    """The reason why it was not begun, or not run to its end."""
    shares: int = 1
    """Lanes that shared the cores, itself included."""
    durations: list[tuple[float, str]] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        """Is true if it ran and did not succeed."""
        return not self.left_out and not self.unfinished and self.code != 0

    def row(self) -> str:
        """Return the line of the summary."""
        if self.left_out:
            return f"  {self.lane.name:<12}      -          left out: {self.left_out}"
        if self.unfinished:
            return f"  {self.lane.name:<12} {self.seconds:6.0f} s  NOT RUN: {self.unfinished}"
        times = SLOW * self.shares
        slow = self.seconds > times * self.lane.seconds
        notes = ["FAILED"] * self.has_failed + [f"WARNING: {times:g} times the table"] * slow
        told = (
            f"  {self.lane.name:<12} {self.seconds:6.0f} s of {self.lane.seconds:4}"
            f"  {self.cpu_s:6.0f} s of the processor"
        )
        return "  ".join([told, *notes])


def say(text: str) -> None:
    """Print a line at once; two lanes may have something to say."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def git(*words: str) -> str:
    """Run git and return its output, empty where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def read_green() -> dict[str, dict[str, str | float]]:
    """Read which lanes were green here; none where that is unknown."""
    try:
        return json.loads(GREEN.read_text())
    except (OSError, ValueError):
        return {}


def why_unchanged(lane: Lane, green: dict[str, dict[str, str | float]], now_s: float) -> str:
    """Return why a lane may be left out; empty where it has to run."""
    last = green.get(lane.name)
    if not lane.unseen or not last or os.environ.get("TPUSTARTER_GATE") == "whole":
        return ""
    commit = str(last["commit"])
    if now_s - float(last["run"]) > WEEK_S or not git(
        "rev-parse", "--verify", f"{commit}^{{commit}}"
    ):
        return ""
    changed = [
        *git("diff", "--name-only", commit).splitlines(),
        *git("ls-files", "--others", "--exclude-standard").splitlines(),
    ]
    if any(not name.startswith(lane.unseen) for name in changed):
        return ""
    return f"nothing that it sees has changed since {commit[:8]} (TPUSTARTER_GATE=whole runs it)"


def command_of(lane: Lane) -> Sequence[str]:
    """Return the command that runs a lane."""
    name, _, version = lane.name.partition("-")
    return ["bash", f".ci/lanes/{name}", *([version] if version else [])]


def wait(pid: int, limit_s: float | None = None) -> tuple[int | None, float]:
    """Return a command's exit code, None if it was ended at its limit, and processor seconds."""
    ended = os.pidfd_open(pid)
    is_over = not select.select([ended], [], [], limit_s)[0]
    os.close(ended)
    if is_over:
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    code = None if is_over else os.waitstatus_to_exitcode(status)
    return code, usage.ru_utime + usage.ru_stime


def run(one: Run, work: Path) -> None:
    """Run a lane, its output in a log of its own."""
    if ENDED.is_set():
        return
    if time.monotonic() - BEGAN > BEGIN_S:
        one.unfinished = f"not begun within {BEGIN_S // 60} minutes: this machine is slow or busy"
        say(f"== {one.lane.name} is not run: {one.unfinished}")
        return
    env = {**os.environ, "WORK": str(work), "PYTEST_ADDOPTS": "--durations=10"}
    began = time.monotonic()
    say(f"== {one.lane.name}: {one.lane.tries}")
    with one.log.open("w") as log:
        child = subprocess.Popen(
            command_of(one.lane), cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True
        )
        RUNNING.add(child.pid)
        one.code, one.cpu_s = wait(child.pid, max(0.0, BEGAN + END_S - time.monotonic()))
        RUNNING.remove(child.pid)
        child.returncode = one.code or 0  # it is reaped
    one.seconds = time.monotonic() - began
    if ENDED.is_set():
        return  # the log may be gone
    text = one.log.read_text(errors="replace")
    one.durations = [(float(seconds), name) for seconds, name in DURATION.findall(text)]
    said = [line.strip("= ") for line in text.splitlines() if LAST_WORDS.match(line)]
    if one.code is None:
        one.unfinished = f"not ended within {END_S // 60} minutes: this machine is slow or busy"
    ended = "FAILED" if one.code else "was stopped" if one.unfinished else "ended"
    say(f"== {one.lane.name} {ended} after {one.seconds:.0f} s: {'; '.join(said)}")
    if one.code:
        say(text[-30_000:])


def prepare_lane(one: Run, work: Path) -> None:
    """Make the environment of a lane; what goes wrong is met again, and told, in its turn."""
    env = {**os.environ, "WORK": str(work), "PREPARE": "1"}
    with (work / f"{one.lane.name}-prepare.log").open("w") as log:
        subprocess.run(command_of(one.lane), cwd=ROOT, env=env, stdout=log, stderr=log, check=False)


def run_all(runs: Sequence[Run], work: Path) -> None:
    """Run two at once, and beside them those that mostly wait, and what makes environments.

    When all that mostly wait have ended, three run at once, so that no core is idle at the end.
    """
    beside = [one for one in runs if one.lane.is_beside]
    in_turn = [one for one in runs if not one.lane.is_beside]
    made = {one.lane.name: threading.Event() for one in runs if one.lane.is_prepared}
    for one in runs:
        one.shares = min(AT_ONCE, len(in_turn)) + bool(beside)
    turns = iter(in_turn)  # which all threads take from

    def make_environments() -> None:
        for one in chain.from_iterable(zip_longest(beside, in_turn)):  # as their turns come
            if one and one.lane.name in made:
                prepare_lane(one, work)
                made[one.lane.name].set()

    def run_in_turn(lanes: Iterable[Run] = turns) -> None:
        for one in lanes:
            if one.lane.name in made:
                made[one.lane.name].wait()
            run(one, work)

    def run_beside() -> None:
        run_in_turn(beside)
        run_in_turn()

    loops = (make_environments, run_beside, *[run_in_turn] * AT_ONCE)
    threads = [threading.Thread(target=loop, daemon=True) for loop in loops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_suite(one: Run) -> str:
    """Run the README's command with its output in sight; returns its last line, not printed yet."""
    (command,) = re.findall(r"^python3 -m uv run pytest$", (ROOT / "README.md").read_text(), re.M)
    began = time.monotonic()
    say(f"== suite: {command}")
    env = {**os.environ, "PYTEST_ADDOPTS": "--durations=10"}
    child = subprocess.Popen(
        command.split(),
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []
    for line in child.stdout or []:
        print("".join(lines[-1:]), end="", flush=True)
        lines.append(line)
    one.code, one.cpu_s = wait(child.pid)
    child.returncode = one.code or 0
    one.seconds = time.monotonic() - began
    text = "".join(lines)
    one.log.write_text(text)
    one.durations = [(float(seconds), name) for seconds, name in DURATION.findall(text)]
    return "".join(lines[-1:]).rstrip("\n")


def summary(runs: Sequence[Run]) -> list[str]:
    """Return the lines of the end: seconds by lane, the slowest tests, the end of what failed."""
    slowest = sorted(
        ((seconds, f"{one.lane.name}: {name}") for one in runs for seconds, name in one.durations),
        reverse=True,
    )
    lines = [f"== the gate took {time.monotonic() - BEGAN:.0f} s", *(one.row() for one in runs)]
    lines += ["== the ten slowest tests", *(f"  {s:6.1f} s  {name}" for s, name in slowest[:10])]
    for one in runs:
        if one.has_failed:
            tail = one.log.read_text(errors="replace").splitlines()[-40:]
            lines += [f"== {one.lane.name} FAILED ({one.code}); its last lines:", *tail]
    return lines


def keep_green(runs: Sequence[Run], green: dict[str, dict[str, str | float]], now_s: float) -> None:
    """Remember what was green with the commit that is checked out, if nothing else lies there."""
    if git("status", "--porcelain"):
        return
    commit = git("rev-parse", "HEAD")
    for one in runs:
        if not one.has_failed and not one.unfinished:
            ran_at = green.get(one.lane.name, {}).get("run", now_s) if one.left_out else now_s
            green[one.lane.name] = {"commit": commit, "run": ran_at}
    GREEN.parent.mkdir(parents=True, exist_ok=True)
    GREEN.write_text(json.dumps(green, indent=1))


def prepare(work: Path) -> None:
    """Build the wheel, and copy the tests to where no checkout is."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "uv",
            "build",
            "--quiet",
            "--wheel",
            "--out-dir",
            str(work / "dist"),
        ],
        cwd=ROOT,
        check=True,
    )
    shutil.copytree(ROOT / "tests", work / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (work / "pytest.ini").write_text(PYTEST_INI)  # beside it, pytest reads no file further up


def main() -> int:
    """Run what was asked for; 1 where a lane failed."""
    names = sys.argv[1:] or [lane.name for lane in LANES]
    if unknown := {*names} - {lane.name for lane in LANES}:
        print(
            f"no lane is called {', '.join(unknown)}; the lanes: "
            f"{', '.join(lane.name for lane in LANES)}"
        )
        return 2
    now_s, green = time.time(), read_green()
    work = Path(tempfile.mkdtemp(prefix="gate-"))
    try:
        prepare(work)
        runs = [Run(lane, work / f"{lane.name}.log") for lane in LANES if lane.name in names]
        for one in runs if not sys.argv[1:] else ():
            if why := why_unchanged(one.lane, green, now_s):
                one.left_out = why
                say(f"== {one.lane.name} is left out: {why}")
        run_all([one for one in runs if not one.left_out and one.lane.name != "suite"], work)
        last = [run_suite(one) for one in runs if one.lane.name == "suite"]
        say("\n".join(["", *summary(runs), *last]))
        if not any(one.has_failed for one in runs):
            keep_green(runs, green, now_s)
        return int(any(one.has_failed for one in runs))
    finally:
        ENDED.set()
        for group in tuple(RUNNING):
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.killpg(group, signal.SIGTERM)
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
