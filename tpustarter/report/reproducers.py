"""What reproduces the failures: a file for each failed check and block, run, with its variants.

What is not run is attached all the same, and says so first. Nothing is run where a framework did
not answer, because each of these files would wait for the same device.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tpustarter.checking import plan
from tpustarter.checking.interpreters import Interpreter
from tpustarter.machine import frameworks
from tpustarter.problem import Problem
from tpustarter.redact import Redactor
from tpustarter.report import failed, software
from tpustarter.report.cleaning import Cleaner
from tpustarter.report.collecting import Collector, Context, Unanswered
from tpustarter.report.failed import Wanted
from tpustarter.report.shapes import VERSION, Shape, figure, like, one_of, ours, rows, text
from tpustarter.reproducing import program, trying, variants
from tpustarter.reproducing.program import Failure, Place, Program
from tpustarter.reproducing.standalone import Entangled
from tpustarter.reproducing.trying import Bench
from tpustarter.reproducing.variants import Tried
from tpustarter.running import lease, run_folder

MOST = 3
"""Files that are made unless more are named."""
RECENT_S = 24 * 3600.0
"""What failed longer ago is not taken for a part of today's trouble, unless it is named."""
EACH_S = 120.0
"""Longest that one run of a file may take; less where the check itself has less."""
TOTAL_S = 300.0
"""Longest that all runs of all files may take."""

Fields = dict[str, Any]


def collector(ids: Sequence[str], why_not: str = "") -> Collector:
    """Return the collector of the files of some ids; of the newest failures where none is named."""
    return Collector(
        "reproducers",
        "Files that reproduce failures",
        lambda context: _collect(context, ids, why_not),
        _ALLOWED,
        limit_s=TOTAL_S + EACH_S,
    )


def _collect(context: Context, ids: Sequence[str], why_not: str) -> Fields:
    since = (datetime.now(timezone.utc) - timedelta(seconds=RECENT_S)).isoformat()
    found = [failed.named(one) for one in ids] if ids else failed.newest(since)
    without: list[Fields] = []
    if not ids:
        why = "it is not among the newest; the option --reproduce with its name makes one"
        without = [{"id": one.id, "why": why} for one in found[MOST:]]
        found = found[:MOST]
    if not found:
        return {}
    if context.interpreter is None:
        raise Unanswered("there is no Python to test on this machine")
    tester = _Tester(context, context.interpreter, why_not)
    files: list[Fields] = []
    for one in found:
        row, why = tester.row_or_why_not(one)
        files += [row] if row else []
        without += [] if row else [{"id": one.id, "why": why}]
    return {"files": files, "without": without}


class _Tester:
    """Makes files and runs them, all of them together for a bounded time."""

    def __init__(self, context: Context, interpreter: Interpreter, why_not: str) -> None:
        self._context = context
        self._python: Path = interpreter.path
        self._plan = plan.make(context.machine, gpu_plugin=interpreter.has_gpu_plugin)
        self._why_not = why_not
        self._packages: Mapping[str, str] = context.found.get("packages") or software.packages(
            interpreter.path.parent.parent, context.machine.env
        )
        self._deadline = time.monotonic() + TOTAL_S

    def row_or_why_not(self, one: Wanted) -> tuple[Fields | None, str]:
        """Return what is told of one file, or why there is none."""
        try:
            return self.row(one), ""
        except Entangled as error:
            return None, str(error)
        except Problem as problem:
            return None, problem.what

    def row(self, one: Wanted) -> Fields:
        """Return what is told of one file."""
        own = Redactor(self._context.machine.env).text(str(self._python))
        elsewhere = one.python not in ("", own)
        failure = None if elsewhere else one.failure
        place = self._place(one.framework)
        made = one.make(failure, place)
        tried, why = self._tried(one, made, place)
        first = tried[0].outcome if tried else None
        if first:
            self._context.found.setdefault("reproduced", []).append(first.output)
        state, says = _judged(failure, first, why)
        if elsewhere:
            says += " It failed in another Python, which `--python` names."
        return {
            "id": one.id,
            "name": made.name,
            "title": made.title,
            "state": state,
            "says": says,
            "command": made.command,
            "conclusion": variants.conclusion(tried) if first else None,
            "variants": [{"variant": row.variant.title, "outcome": row.words,
                          "seconds": row.outcome.seconds if row.outcome else None}
                         for row in tried],
            "lines": made.text.count("\n"),
            "code": made.text,
            "output": first.output.strip() or None if first else None,
        }  # fmt: skip

    def _place(self, framework: str) -> Place:
        own = plan.variables(self._plan, framework, self._context.machine.env) if framework else {}
        # What the user set is told only in the form that variables have everywhere.
        told = {name: value for name, value in own.items()
                if name in software.VARIABLES
                and re.fullmatch(software.VARIABLES[name], value)}  # fmt: skip
        names = [name for name in frameworks.DISTRIBUTIONS if name in self._packages]
        versions = {name: self._packages[name] for name in names
                    if re.fullmatch(VERSION, self._packages[name])}  # fmt: skip
        fresh: Any = self._context.found.get("fresh") or {}
        python = str(fresh.get("target", {}).get("python_version") or "")
        return Place(
            self._plan.platform,
            self._plan.devices,
            self._plan.generation,
            "its devices" if "=" in self._plan.where else self._plan.where,
            versions,
            python if re.fullmatch(VERSION, python) else "",
            told,
        )

    def _tried(self, one: Wanted, made: Program, place: Place) -> tuple[list[Tried], str]:
        """Return what came of the variants, or why none was run."""
        if why := self._why_none(one.framework):
            return [], why
        try:
            with self._bench(one.framework) as bench:
                return list(self._run_all(made, variants.of(made, place), bench)), ""
        except Problem as problem:  # something of ours holds the device, or Python is gone
            return [], problem.what

    def _why_none(self, framework: str) -> str:
        """Return why nothing of a framework is run here; empty where it may be."""
        hung: Mapping[str, str] = self._context.found.get("hung") or {}
        for name, step in hung.items():
            return f"{name} did not come back from `{step}`"
        if self._why_not or not framework:
            return self._why_not
        if self._plan.blocked:
            return self._plan.blocked.what
        missing = framework not in self._packages
        return f"{framework} is not installed in the Python under test" if missing else ""

    @contextlib.contextmanager
    def _bench(self, framework: str) -> Generator[Bench]:
        """Have a folder, and the device where it is not the CPU; raises Problem."""
        machine = self._context.machine
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(run_folder.of_run(Redactor(machine.env), lambda: False))
            env = dict(machine.env) | plan.own_folders(folder)
            hold = None
            if framework:
                env = plan.run_env(self._plan, machine.env, folder, framework)
                settings = frameworks.settings_in(framework, machine.env)
                env = frameworks.without_settings(env, settings)
            if framework and self._plan.platform != "cpu":
                hold = stack.enter_context(lease.device("tpustarter report", machine))
            yield Bench(self._python, folder, env, hold)

    def _run_all(
        self, made: Program, wanted: Sequence[variants.Variant], bench: Bench
    ) -> Iterator[Tried]:
        why = ""
        for one in wanted:
            left_s = self._deadline - time.monotonic()
            if one.why_not or why or left_s < 1:
                late = f"the {TOTAL_S:g} s for all of them were used up"
                yield Tried(one, None, one.why_not or why or late)
                continue
            self._context.progress(f"running {made.name}.py, {one.title}")
            limit_s = min(made.limit_s, EACH_S, left_s)
            outcome = trying.run(made, bench, one.env, limit_s)
            yield Tried(one, outcome)
            if outcome.kind == "holds" and one.title == variants.AS_IT_IS:
                return  # there is nothing that could matter
            if outcome.kind == "hangs":
                why = "it hangs, and so might this"


def _judged(failure: Failure | None, first: trying.Outcome | None, why: str) -> tuple[str, str]:
    """Return in a word and in a sentence whether a file fails as the check or block did."""
    if first is None:
        return "not run", f"It was not run, because {why}."
    if failure is None:
        return "alone", f"No failed run is remembered to compare it with. The file {first.words}."
    if trying.is_same(failure, first):
        return "same", "The file fails in the same way."
    seen = ", ".join(sorted({str(one["code"]) for one in failure.findings})) or failure.detail
    return "other", f"The file does not fail in the same way: it {first.words}. Before: {seen}."


def _code(value: Any, cleaner: Cleaner) -> Any:
    """Tell a file: its code is public, and of the comment the lines that quote are cleaned."""
    head, end, body = str(value).partition('\n"""\n')
    lines = [cleaner.text(line, 1) if line.startswith(program.SEEN) else line
             for line in head.split("\n")]  # fmt: skip
    return cleaner.proved("\n".join(lines) + end + body)


_ID = like(r"[a-z_]{1,20}\.[a-z0-9_]{1,40}|[a-z]{1,20}/[a-z0-9-]{1,60}(?::[a-z0-9-]{1,60})?")
_ALLOWED: Mapping[str, Shape] = {
    "files": rows({
        "id": _ID, "name": like(r"\w{1,150}"), "title": ours, "says": text(4), "command": ours,
        "state": one_of("same", "other", "alone", "not run"), "conclusion": text(3),
        "variants": rows({"variant": ours, "outcome": text(2), "seconds": figure}),
        "lines": figure, "code": _code, "output": text(80),
    }),
    "without": rows({"id": _ID, "why": text(2)}),
}  # fmt: skip
