"""A run as plain text: worst results first, then the claims that hold, then the headline."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tpustarter.checking.results import next_step
from tpustarter.checking.results.headline import format_headline
from tpustarter.checking.results.no_tpu_reason import explain_no_tpu
from tpustarter.checking.results.results import (
    WORST_FIRST,
    FindingFields,
    PublishedFinding,
    Result,
    Run,
    Status,
)
from tpustarter.checking.run import known_causes
from tpustarter.machine import frameworks
from tpustarter.text import bars, phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import Paint, escape_text, line_width, paint_nothing, wrap

ID_WIDTH = 22
"""Width of the column of check ids, unless a run has a longer id."""
SECONDS_WIDTH = 8
MIN_ROOM = 24
"""Narrowest column for the text beside a check id; if it is narrower, the text goes below."""
_INDENT = " " * 6
STATUS_WORDS: dict[Status, str] = {
    "fail": "FAIL",
    "error": "ERROR",
    "notrun": "NOT",
    "warn": "WARN",
    "pass": "pass",
    "skip": "skip",
}
_CLAIMS = {"pass": "", "fail": "does not hold: ", "warn": "holds with a warning: "}
"""Words before a claim, so that a refuted claim does not read as if it held."""
_NOISE = (
    "/tpustarter/probe/",
    "probe.pyz/__main__.py",
    "<frozen runpy>",
    "=== Source Location Trace",
    "learning/45eac/",
)
"""Frames of the probe and of libtpu's sources, which reveal nothing about the machine."""
_HOST = re.compile(r"host:(\d+) ?(.*)")
"""The entity of a finding in a run on several hosts."""
NEVER_TRIED = (
    "This run over many hosts was tested on CPUs, and never on a real slice: if a result "
    "surprises you, doubt it, and report it."
)
"""The note below a report on several hosts with TPUs, until this has been tried on one."""
FOLDED_FROM = 4
"""Number of passed claims from which they are folded into one line."""
LOG_LINES, LOG_COLUMNS = 12, 392
"""Maximum lines, and their length, of a process's output below an error; `-v` shows all lines."""


def render_results(
    run: Run, *, verbose: bool = False, fold_passes: bool = False, paint: Paint = paint_nothing
) -> str:
    """Return the whole report, without its first line (`format_opening`).

    Args:
        run: The finished run.
        verbose: True to show every finding, skip and log.
        fold_passes: True to fold many passed claims into one line; `verbose` outranks it.
        paint: Colours a word according to a status.
    """
    lines: list[str] = []
    results = sort_worst_first(run.results)
    folded, widths = (
        0,
        {
            framework: check_id_width(one.id for one in run.results if one.framework == framework)
            for framework in {result.framework for result in run.results}
        },
    )
    not_run = [result for result in results if result.reason == "interrupted"]
    passed = [result for result in results if result.status == "pass"]
    folds_passes = fold_passes and not verbose and len(passed) >= FOLDED_FROM
    for result in results:
        if folds_passes and result.status == "pass":
            lines += [_passes(passed, paint)] if result is passed[0] else []
            continue
        if result.status == "skip" and not verbose:
            folded += 1
            continue
        if len(not_run) > 1 and result in not_run and not verbose:
            lines += _interrupted(not_run, paint) if result is not_run[0] else []
            continue
        lines += _result(result, paint, widths[result.framework], verbose=verbose)
    if folded:
        lines += wrap(_skips(run), "", hang=_INDENT)
    if verbose and run.hosts:
        lines += ["", *(row for host in list_hosts(run) for row in wrap(host, "", hang=_INDENT))]
    if verbose and run.stored_programs:
        lines += ["", *wrap(_stored(run.stored_programs), "")]
    lines += ["", *wrap(format_headline(run), "")]
    if len(run.hosts) > 1 and run.target.get("platform") == "tpu":
        lines += wrap(NEVER_TRIED, "")
    return "\n".join(lines)


def _stored(count: int) -> str:
    programs = phrases.format_count(count, "program")
    return f"{programs} compiled by earlier runs; `--fresh` compiles everything anew"


def list_hosts(run: Run) -> Iterator[str]:
    """Yield a line about each host of a run on several: its name, versions and devices."""
    for host in run.hosts:
        versions = [
            f"{name} {version}"
            for name, version in host["frameworks"].items()
            if name in ("jax", "libtpu")
        ]
        devices = phrases.format_count(host["devices"] or 0, "device")
        facts = ", ".join([f"Python {host['python_version']}", *versions, devices])
        yield f"host {host['host']}  {escape_text(host['name'])}: {facts}"


def sort_worst_first(results: Iterable[Result]) -> list[Result]:
    """Return results with the worst first, and each cause directly above its first effect."""
    results = list(results)
    raised = known_causes.rank_causes(results, _rank)
    return sorted(results, key=lambda one: known_causes.make_sort_key(one.id, _rank(one), raised))


def _rank(result: Result) -> known_causes.Rank:
    return WORST_FIRST.index(result.status), False


def format_opening(run: Run) -> str:
    """Return the Python, frameworks and devices under test, wrapped to the terminal."""
    return "\n".join(
        line
        for text, hang in opening_lines(run)
        for line in (wrap(text, "", hang=" " * hang) if hang else [text])
    )


def opening_lines(run: Run) -> Iterator[tuple[str, int]]:
    """Yield the unwrapped lines of `format_opening`, each with its hanging indent."""
    target = run.target
    names = [
        f"{name} {version}"
        for name, version in target.get("frameworks", {}).items()
        if name in frameworks.FRAMEWORKS
    ]
    what = ", ".join(names) or "no framework"
    where = target.get("where", "")
    if target.get("platform") not in ("tpu", "gpu"):
        where = f"{explain_no_tpu(run.host)}: {where}"
    if run.level == "static":
        where = "nothing is started on a device"
    python = f"{target.get('shown', '')} {target.get('python_version', '')}"
    line = f"python {python}, {what} ({where})"
    if notebook := run.host.get("notebook"):
        line += f" on {notebook}"
    yield escape_text(line), 7
    if (given := target.get("settings")) and run.level != "static":
        settings = ", ".join(given)
        text = f"with   {settings} set; `tpustarter check host.environment -v` explains"
        yield format_commands(escape_text(text)), 7
    if (others := target.get("others")) and not names:
        yield from ((f"also   {escape_text(interpreter)}", 0) for interpreter in others)
    if names and (left_out := target.get("left_out")) and run.level != "static":
        why = _explain_omission(left_out, target.get("frameworks", {}))
        yield f"without {why}", 8


def _explain_omission(left_out: Iterable[str], installed: Iterable[str]) -> str:
    absent = [name for name in left_out if name not in installed]
    alone = {
        name: phrases.join_words(frameworks.list_missing_frameworks(name, installed))
        for name in left_out
        if name in installed
    }
    said = f"{', '.join(absent)} (not installed in this Python)"
    others = [f"{name}, whose checks need {beside} beside it" for name, beside in alone.items()]
    return "; without ".join([said, *others] if absent else others)


def format_waiting_check(
    check_id: str, seconds: float, *, platform: str, progress: str = ""
) -> tuple[str, str]:
    """Return a line about a running check, and the usual duration of its current step."""
    activity, usual = escape_text(progress), ""
    framework, _, name = check_id.partition(".")
    if not activity and name == "devices_visible":
        known = frameworks.FRAMEWORKS[framework]
        what, time = known.title, known.starts_in
        if platform == "tpu":
            what, time = "the TPU runtime", "5 to 15 s"
        activity, usual = f"starting {what}", f"usually {time}"
    elif not activity and platform == "tpu" and framework != "host":
        activity, usual = "compiling", "20 to 60 s the first time"
    return f"{check_id}  {seconds:.0f} s" + (f", {activity}" if activity else ""), usual


def check_id_width(ids: Iterable[str]) -> int:
    """Return the width of the column of check ids, including a space after the longest."""
    return max(ID_WIDTH, *(len(check_id) + 1 for check_id in ids), 0)


def _result(result: Result, paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    word = paint(f"{STATUS_WORDS[result.status]:<6}", result.status)
    seconds = f"{result.seconds:.1f} s" if result.seconds >= 0.05 else ""
    yield from _row(word, result.id, escape_text(summarize_result(result)), seconds, width)
    yield from _findings(result) if verbose else _worst(result)
    if result.cause:
        yield from wrap(escape_text(known_causes.format_cause(result.cause)), _INDENT)
    yield from (f"{_INDENT}| {line}" for line in list_log_lines(result, verbose=verbose))
    if result.status in ("fail", "error", "warn"):
        step = escape_text(next_step.choose_hint(result))
        yield from wrap(f"{_INDENT}do    {step}", "", hang=_INDENT + " " * 6)
        if result.lesson:
            yield format_commands(f"{_INDENT}read  tpustarter learn {result.lesson}")


def _row_finding(result: Result) -> FindingFields | None:
    verdict = result.status if result.status in ("fail", "warn") else None
    findings = merge_same_findings(result.findings)
    return next((finding for finding in findings if finding["verdict"] == verdict), None)


def merge_same_findings(findings: Sequence[FindingFields]) -> list[FindingFields]:
    """Merge identical findings from several hosts."""
    hosts: dict[str, list[str]] = {}
    alike: dict[str, FindingFields] = {}
    for number, finding in enumerate(findings):
        on_host = _HOST.fullmatch(finding["entity"] or "")
        rest = {**finding, "entity": on_host[2] if on_host else finding["entity"]}
        key = repr(rest) if on_host else str(number)
        alike.setdefault(key, finding)
        hosts.setdefault(key, []).extend([on_host[1]] if on_host else [])
    return [
        {**finding, "entity": _name_hosts(hosts[key], finding)} if len(hosts[key]) > 1 else finding
        for key, finding in alike.items()
    ]


def _name_hosts(hosts: Sequence[str], finding: FindingFields) -> str:
    rest = (finding["entity"] or "").partition(" ")[2]
    return f"hosts {phrases.join_words(hosts)} {rest}".rstrip()


def _worst(result: Result) -> Iterator[str]:
    row_finding = _row_finding(result)
    others = [
        finding
        for verdict in ("fail", "warn")
        for finding in merge_same_findings(result.findings)
        if finding != row_finding and finding["verdict"] == verdict
    ]
    for finding in others[:3] if row_finding else ():
        yield from wrap(escape_text(finding_line(finding)), _INDENT)
    if row_finding and len(others) > 3:
        yield f"{_INDENT}and {len(others) - 3} more: -v shows them"


def list_other_findings(result: Result) -> list[FindingFields]:
    """Return a result's findings without the one that `summarize_result` tells."""
    row_finding = _row_finding(result)
    return [one for one in merge_same_findings(result.findings) if one != row_finding]


def _findings(result: Result) -> Iterator[str]:
    hints: set[str] = {next_step.choose_hint(result)} if _row_finding(result) else set()
    for finding in list_other_findings(result):
        line = f"{finding['verdict']:<5} {escape_text(finding_line(finding))}"
        yield from wrap(line, _INDENT, hang=_INDENT * 2)
        if filled := bars.draw_peak_bar(finding.get("share")):
            yield _INDENT * 2 + filled
        hint = str(finding["hint"] or "")
        if hint and hint not in hints and finding["verdict"] != "ok":
            hints.add(hint)
            yield from wrap(escape_text(hint), _INDENT * 2)


def list_log_lines(result: Result, *, verbose: bool) -> list[str]:
    """Return the lines of a process's output that say why it ended; with `verbose`, all of them."""
    lines = [line for line in result.log.splitlines() if line.strip(" ^~\t")]
    if not verbose:
        lines = _last_words([line for line in lines if not any(noise in line for noise in _NOISE)])
        if result.reason not in ("timeout", "crashed", "protocol"):
            lines = []  # the row already shows the last line of the traceback
    return [escape_text(line)[:LOG_COLUMNS] for line in lines]


def _last_words(lines: list[str]) -> list[str]:
    starts = [n for n, line in enumerate(lines) if line.startswith(("Timeout (", "Fatal Python"))]
    if not starts:
        return lines[-LOG_LINES:]
    output, stacks = lines[: starts[-1]], lines[starts[-1] :]
    # faulthandler prints the main thread last, with its innermost call first.
    threads = [n for n, line in enumerate(stacks) if "most recent call first" in line]
    stack = stacks[threads[-1] + 1 :] if threads else []
    half = LOG_LINES // 2
    return [*output[-half:], stacks[0], *stack[: half - 1]]


def _row(word: str, name: str, text: str, seconds: str, width: int) -> Iterator[str]:
    room = line_width() - 6 - width - SECONDS_WIDTH
    if room < MIN_ROOM:
        yield _spread(word, name, seconds)
        yield from wrap(text, _INDENT)
        return
    first, *rest = textwrap.wrap(format_commands(text), room, break_on_hyphens=False) or [""]
    yield f"{word}{name:<{width - 1}} {first:<{room}}{seconds:>{SECONDS_WIDTH}}".rstrip()
    for line in rest:
        yield " " * (6 + width) + line


def _spread(word: str, label: str, seconds: str) -> str:
    room = line_width() - 6 - SECONDS_WIDTH
    return f"{word}{label:<{room}}{seconds:>{SECONDS_WIDTH}}".rstrip()


def summarize_result(result: Result) -> str:
    """Return the most important fact about a result as one line."""
    row_finding = _row_finding(result)
    if row_finding:
        return finding_line(row_finding)
    if result.status in _CLAIMS:
        return f"{_CLAIMS[result.status]}{result.title}"
    words = {"timeout": "time-out", "not-applicable": "does not apply", "load": "cannot be loaded"}
    reason = words.get(result.reason or "", (result.reason or "").replace("-", " "))
    if result.status == "skip" and result.detail:
        return f"blocked {result.detail}" if result.reason == "dependency" else result.detail
    return f"{reason}: {result.detail}" if result.detail else reason


def finding_line(finding: PublishedFinding) -> str:
    """Return a finding as one sentence: name, found value, expected value, with the unit once."""
    found, expected = finding["found"], finding["expected"]
    unit = f" {finding['unit']}" if finding["unit"] else ""
    if found == 1:
        unit = re.sub(r"(chip|device|node|host)s$", r"\1", unit)
    where = f" ({finding['entity']})" if finding["entity"] and not _says_where(finding) else ""
    text = f"{finding['name']}{where}"
    differs = expected is not None and expected != found
    if found is not None:
        word = "found " if differs or finding["verdict"] in ("warn", "fail") else ""
        text += f": {word}{format_number(found)}{unit}"
    if differs:
        text += f", expected {format_number(expected)}{unit if found is None else ''}"
    elif found is None and finding["verdict"] == "fail":
        text += ": not as it has to be"
    return text


def _says_where(finding: PublishedFinding) -> bool:
    kind, _, part = str(finding["entity"]).rpartition(":")
    if kind == "host":
        return f"host {part}" in str(finding["name"])
    named = bool(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", str(finding["name"])))
    phrase = f"{kind} {part}," if kind else part
    return named or phrase in str(finding["found"])


def format_number(value: object) -> str:
    """Format a value for people: a float with three significant digits, a bool as `yes` or `no`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def _interrupted(results: list[Result], paint: Paint) -> list[str]:
    running = [result.id for result in results if result.detail]  # the interrupted one has a detail
    others = [result.id for result in results if not result.detail]
    parts = [f"{name} was stopped while it ran" for name in running]
    if others:
        parts.append(f"{len(others)} not started, {phrases.join_words(others, most=1)}")
    first, *rest = wrap(
        f"{STATUS_WORDS['notrun']:<6}{'; '.join(parts)} (-v names each)", "", hang=_INDENT
    )
    return [paint(first[:6], "notrun") + first[6:], *rest]


def _passes(results: list[Result], paint: Paint) -> str:
    seconds = sum(result.seconds for result in results)
    text = f"{len(results)} claims hold (-v names each)"
    return _spread(paint("pass  ", "pass"), text, f"{seconds:.1f} s")


def _skips(run: Run) -> str:
    reasons: dict[str, list[str]] = {}
    for result in run.results:
        if result.status == "skip":
            reasons.setdefault(escape_text(summarize_result(result)), []).append(result.id)
    parts = [
        f"{phrases.choose_plural(len(ids), ids[0], f'{len(ids)} checks')}: {why}"
        for why, ids in reasons.items()
    ]
    hint = " (-v names each)" if len(parts) < sum(map(len, reasons.values())) else ""
    return f"skip  {'; '.join(parts)}{hint}"
