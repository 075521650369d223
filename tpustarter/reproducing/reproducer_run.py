"""Runs a reproducer with the Python under test, in a supervised process, and judges the outcome.

The file is in a folder of its own, and Python runs in isolated mode, without PYTHONPATH or the
user's own packages, so it cannot import this program.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.run.expected_output import describe_mismatch
from tpustarter.reproducing.reproducer_file import MARK, ReproducedFailure, ReproducerFile
from tpustarter.running import probe_archive
from tpustarter.running.process import CappedLog, Probe, ProbeGoneEvent, signal_name

Kind = Literal["holds", "fails", "raises", "hangs", "crashes"]
_FAIL = re.compile(r"^FAIL ([A-Z0-9-]+),", re.MULTILINE)
_FRAME = re.compile(r'^  File ".*", line \d+, in (\S+)', re.MULTILINE)
_ERROR = re.compile(r"^((?:\w+\.)*[A-Z]\w*)(?::|$)", re.MULTILINE)
_MOST_PRINTED = 256 * 1024


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of one run of a file."""

    kind: Kind
    codes: frozenset[str] = frozenset()
    """Codes of the failed findings."""
    error: str = ""
    """The exception's type, without its module."""
    function: str = ""
    """The function that raised it."""
    detail: str = ""
    output: str = ""
    seconds: float = 0.0

    @property
    def words(self) -> str:
        """The outcome in a few words."""
        told = {"fails": ", ".join(sorted(self.codes)), "raises": self.error}.get(self.kind, "")
        more = ": ".join(part for part in (told, self.detail) if part)
        return f"{self.kind} ({more})" if more else self.kind


@dataclass(frozen=True)
class ReproducerEnvironment:
    """The Python, the folder and the environment variables for running files."""

    python: Path
    folder: Path
    """A temporary folder that is removed after the run."""
    env: Mapping[str, str]
    lease: int | None = None


def run_file(
    program: ReproducerFile, bench: ReproducerEnvironment, env: Mapping[str, str], limit_s: float
) -> TrialOutcome:
    """Return how a reproducer ends within a timeout; raises Problem if Python cannot be started."""
    place = bench.folder / f"tried-{time.monotonic_ns()}"
    place.mkdir()
    file = place / f"{program.name}.py"
    file.write_text(program.text, encoding="utf-8")
    for name, text in program.data_files.items():
        (place / name).write_text(text, encoding="utf-8")
    for path in (place, *place.iterdir()):
        locations.chown_to_caller(path)
    words = [str(bench.python), "-I", "-u", str(file)]
    log = CappedLog(place / "probe-tried.log")
    whole = {**bench.env, **program.env, **env}
    try:
        probe = Probe(
            Path(sys.executable),
            probe_archive.build_probe_archive(bench.folder / "probe.pyz"),
            log,
            env=whole,
            drop=locations.find_sudo_caller(),
            lease=bench.lease,
            command=words,
            stream=True,
        )
    except OSError as error:
        log.close()
        raise Problem(f"`{bench.python}` cannot be started: {error.strerror}") from error
    printed, gone, began = bytearray(), None, time.monotonic()
    try:
        while gone is None and (left_s := began + limit_s - time.monotonic()) > 0:
            event = probe.read(left_s)
            if event and event["event"] == "gone":
                gone = event
            elif event and event["event"] == "output" and event["name"] == "stdout":
                printed += event["data"]
                del printed[:-_MOST_PRINTED]
    finally:
        probe.end()
        probe.close()
        log.close()
    seconds = time.monotonic() - began
    output = log.read_since(0).replace(f"{place}/", "")
    platform = whole.get("EXPECTED_PLATFORM", program.platform)
    text = printed.decode("utf-8", "replace")
    difference = _difference(program.block, text, platform) if program.block else None
    return _outcome(text, output, gone, seconds, difference)


def _outcome(
    printed: str,
    output: str,
    gone: ProbeGoneEvent | None,
    seconds: float,
    difference: str | None,
) -> TrialOutcome:
    """Judge how a run ended; `difference` is that of a block's output, and None for a check."""
    codes = frozenset(_FAIL.findall(printed)) if difference is None else frozenset[str]()
    kind: Kind = "holds"
    error = function = detail = ""
    if codes:
        kind = "fails"
    elif gone is None:
        kind, detail = "hangs", f"no end within {seconds:.0f} s"
    elif gone["signal"]:
        kind, detail = "crashes", signal_name(gone["signal"])
    elif gone["code"] and "Traceback (most recent call last)" in output:
        kind, (error, function) = "raises", parse_traceback(output)
    elif gone["code"]:
        kind, detail = "crashes", f"exit code {gone['code']}"
    elif difference:
        kind, detail = "fails", difference
    return TrialOutcome(kind, codes, error, function, detail, output, round(seconds, 1))


def parse_traceback(text: str) -> tuple[str, str]:
    """Return the type of a traceback's exception, and the name of the function that raised it."""
    frames, errors = list(_FRAME.finditer(text)), list[str]()
    if frames:
        errors = _ERROR.findall(text, frames[-1].end())
    return (errors[0].rpartition(".")[2] if errors else "", frames[-1][1] if frames else "")


def _difference(block: Block, printed: str, platform: str) -> str:
    """Return the first difference from the lesson's expected output, or "" if there is none."""
    expected = block.expected_on(platform)
    own = printed.rpartition(f"{MARK} {block.id}\n")[2]
    return (describe_mismatch(expected, own) or "") if expected else ""


def is_same_failure(failure: ReproducedFailure, outcome: TrialOutcome) -> bool:
    """Return whether a file failed as the check or block did."""
    if failure.status == "fail":
        codes = frozenset(str(one["code"]) for one in failure.findings)
        return outcome.kind == "fails" and outcome.codes == codes
    if failure.reason == "timeout":
        return outcome.kind == "hangs"
    if failure.reason == "crashed":
        return outcome.kind == "crashes" and outcome.detail in failure.detail
    error, function = parse_traceback(failure.log)
    error = error or failure.detail.partition(":")[0].rpartition(".")[2]
    # Merging may have prefixed the function's name with its file's name.
    near = not function or outcome.function.endswith(function.strip("_"))
    return outcome.kind == "raises" and outcome.error == error and near
