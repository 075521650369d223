"""The run as plain text: worst first, whole sentences, and never wider than 80 columns."""

from __future__ import annotations

import itertools
import os
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import shipped
from tests.support.places import TESTS
from tests.support.runs import (
    BUSY,
    FINDING,
    HOST,
    NASTY,
    result,
    results_strategy,
    run_of,
)
from tpustarter.checking.output import junit, results_text
from tpustarter.checking.results.headline import format_headline, summarize_run
from tpustarter.checking.results.results import STATUSES, BlockedFramework, Result, Status
from tpustarter.core import content
from tpustarter.core.problem import ExitCode
from tpustarter.text import terminal
from tpustarter.text.terminal import choose_paint


def test_no_escape_sequence_and_no_markup_survives() -> None:
    """Hostile text from a finding, a log or a device is shown as text in every rendering."""
    finding = {**FINDING, "verdict": "fail", "name": NASTY, "found": NASTY, "hint": NASTY}
    bad = result("fail", findings=(finding,), log=NASTY)
    broken = result("error", detail=NASTY, log=NASTY)
    run = run_of(bad, broken, blocked=replace(BUSY, what=NASTY))
    run.target["shown"] = NASTY
    shown = results_text.format_opening(run) + results_text.render_results(run, verbose=True)
    xml = ET.tostring(junit.make_suite(run), encoding="unicode")

    for control in ("\x1b", "\x07", "\x00", "\u202e"):
        assert control not in shown
        assert control not in xml
    assert "[bold]not markup[/]" in shown
    ET.fromstring(xml)


def test_text_is_worst_first_and_ends_with_target() -> None:
    """Failures come before passes, and the last line says what was tested."""
    run = run_of(HOST, result("pass"), result("fail"))
    shown = " ".join(results_text.render_results(run).split())

    assert shown.startswith("FAIL jax.sample")
    assert shown.endswith(format_headline(run))


def test_checks_skipped_by_stop_are_one_line() -> None:
    """Checks skipped by a stop are one line with a count; `-v` and JSON name each of them."""
    running = result("notrun", "jax.a", reason="interrupted", detail="stopped while it ran")
    others = [result("notrun", f"jax.b{n}", reason="interrupted", detail="") for n in range(42)]
    run = run_of(HOST, running, *others)
    run.stopped_by = 2
    lines = [line for line in results_text.render_results(run).splitlines() if "NOT" in line]
    alone = results_text.render_results(run_of(HOST, running))

    assert lines == ["NOT   jax.a was stopped while it ran; 42 not started, jax.b0 and 41 more (-v"]
    assert 43 == results_text.render_results(run, verbose=True).count("NOT   ")
    assert "NOT   jax.a                 interrupted: stopped while it ran" in alone


WARN = result("warn")


NO_TPU = result("skip", "host.chips", detail="no TPU on this machine")


HEADLINES = {
    "all but a warning": run_of(HOST, WARN),
    "two warnings": run_of(HOST, WARN, WARN),
    "one claim holds": run_of(HOST),
    "one claim has a warning": run_of(WARN),
    "one claim fails": run_of(result("fail")),
    "one claim has no verdict": run_of(result("error")),
    "one claim is blocked": run_of(result("skip", reason="dependency")),
    "one of each": run_of(
        HOST, WARN, result("fail"), result("error"), result("skip", reason="dependency")
    ),
    "one check does not apply": run_of(NO_TPU),
    "three checks do not apply": run_of(NO_TPU, NO_TPU, NO_TPU),
    "two reasons": run_of(NO_TPU, result("skip", detail="this is not a container")),
    "no framework": run_of(
        result("skip", detail="no framework yet"),
        blocked=BlockedFramework("no framework yet", ExitCode.NOTHING_VERIFIED),
    ),
    "nothing": run_of(),
}


def test_headlines_are_the_golden_ones(request: pytest.FixtureRequest) -> None:
    """Headlines match the golden ones: warnings are counted apart, and `0 of 0` never appears."""
    text = "".join(f"{name}: {format_headline(run)}\n" for name, run in HEADLINES.items())
    golden = TESTS / "golden" / "sentences" / "headlines.txt"
    if request.config.getoption("--golden"):
        golden.write_text(text)

    assert golden.read_text() == text


@given(results_strategy)
def test_the_numbers_of_a_headline_add_up(results: list[Result]) -> None:
    """The numbers in a headline add up to the total."""
    run = run_of(*results)
    shown = format_headline(run).replace("8 virtual", "virtual")
    numbers = [int(one) for one in re.findall(r"\b\d+\b", shown)]
    if numbers:
        hold, total, *others = numbers

        assert total == hold + sum(others)
    else:
        assert summarize_run(run).claims <= 1


def finding(verdict_: str, name: str, found: object = 1, **more: object) -> dict[str, object]:
    """Return a finding in the form in which checks report it."""
    given = {**FINDING, "verdict": verdict_, "name": name, "found": found, "expected": None}
    return {**given, **more}


def test_text_of_row_is_not_repeated_below() -> None:
    """With `-v`, a row's finding, its hint, and a hint that two findings share are shown once."""
    told = (
        finding("info", "first", hint="look there"),
        finding("warn", "bad version", "3.11", expected="3.12", hint="set it up"),
        finding("info", "second", hint="look there"),
    )
    shown = results_text.render_results(run_of(result("warn", findings=told)), verbose=True)

    assert 1 == shown.count("bad version")
    assert 1 == shown.count("look there")
    assert 1 == shown.count("set it up")


def test_warning_before_failure_is_shown_beside_failure() -> None:
    """A row shows the failure, and the line below it the earlier warning, each once."""
    told = (finding("warn", "soft"), finding("fail", "hard"))
    shown = results_text.render_results(run_of(result("fail", findings=told))).splitlines()

    assert ["hard", "soft"] == [line.split(": found")[0].split()[-1] for line in shown[:2]]
    assert "hard" not in "".join(shown[1:])


LINES = [
    (finding("info", "big-endian float32", "refused by JAX", entity="dtype:big-endian float32"),
     "big-endian float32: refused by JAX"),
    (finding("info", "default precision", "not set"), "default precision: not set"),
    (finding("ok", "kinds of device", 1, expected=1), "kinds of device: 1"),
    (finding("info", "devices of this host", 1, unit="devices"), "devices of this host: 1 device"),
    (finding("fail", "chips", 0, unit="chips", expected=8), "chips: found 0 chips, expected 8"),
    (finding("warn", "JAX_X is wrong", "a", expected="b", entity="variable:JAX_X"),
     "JAX_X is wrong: found a, expected b"),
    (finding("warn", "a process", "pid 42, root: python", entity="pid:42"),
     "a process: found pid 42, root: python"),
    (finding("fail", "a process", "pid 421, root", entity="pid:42"),
     "a process (pid:42): found pid 421, root"),
    (finding("fail", "devices that answer", "zeros", entity="device:5"),
     "devices that answer (device:5): found zeros"),
]  # fmt: skip


@pytest.mark.parametrize(("given_", "line"), LINES)
def test_a_finding_is_one_sentence_without_repetition(given_: dict[str, object], line: str) -> None:
    """A finding is one sentence with found, expected, the unit once, and the entity if needed."""
    assert line == results_text.finding_line(given_)


def test_v_hint_counts_only_folded_checks() -> None:
    """The `-v` hint counts only the checks that are folded."""
    one, two = result("skip", "host.a", detail="none"), result("skip", "host.b", detail="none")

    assert "-v names" not in results_text.render_results(run_of(HOST, one))
    assert "-v names" in results_text.render_results(run_of(HOST, one, two))


LONGEST = f"torch_xla.{'x' * (shipped.MOST_ID - len('torch_xla.'))}"


def test_claims_of_framework_are_aligned() -> None:
    """The claims of a framework are aligned by its longest id, and long titles are wrapped."""
    long = " ".join(["long"] * 10)
    run = run_of(
        replace(result("pass", LONGEST), title="y" * 33, seconds=0.1),
        replace(result("pass", "jax.sample"), title="short", seconds=0.1),
        replace(result("pass", "jax.sample"), title=long, seconds=1234.5),
    )
    rows = results_text.render_results(run).splitlines()[:4]

    assert [
        f"pass  {LONGEST} {'y' * 33}   0.1 s",
        f"pass  {'jax.sample':<21} short{' ' * 42}0.1 s",
        f"pass  {'jax.sample':<21} {long[:44]}1234.5 s",
        f"{' ' * 28}long",
    ] == rows


@pytest.mark.parametrize(
    ("status", "verbose"), [("fail", False), ("error", False), ("pass", False), ("pass", True)]
)
def test_a_title_is_wrapped_and_never_cut(status: str, verbose: bool) -> None:
    """A long title is wrapped and shown in full, whatever the verdict is."""
    words = " ".join(f"word{number:02}" for number in range(9))[: shipped.MOST_TITLE]
    shown = results_text.render_results(
        run_of(replace(result(status, LONGEST), title=words, findings=())), verbose=verbose
    )

    assert LONGEST in shown
    if status != "error":
        assert words.split() == [one for one in shown.split() if one in words.split()]
    assert all(len(line) <= 80 for line in shown.splitlines())


@given(results_strategy, st.booleans())
def test_text_stays_within_eighty_columns(results: list[Result], verbose: bool) -> None:
    """No line is wider than the narrowest terminal people use."""
    for line in results_text.render_results(run_of(*results), verbose=verbose).splitlines():
        assert len(line) <= 80


def test_healthy_always_names_its_target() -> None:
    """The word healthy is never shown without its target."""
    for statuses in itertools.combinations(STATUSES, 2):
        shown = results_text.render_results(
            run_of(*(result(status) for status in statuses)), verbose=True
        )

        assert "healthy" not in shown


@pytest.mark.parametrize(("level", "lines"), [("quick", 1), ("static", 0)])
def test_the_users_settings_stand_above_the_results(level: str, lines: int) -> None:
    """The user's settings are named above the results, without their values."""
    run = run_of(HOST, level=level)
    run.target["settings"] = ["JAX_DISABLE_JIT", "XLA_FLAGS"]

    opening = results_text.format_opening(run).splitlines()

    shown = [line for line in opening if line.startswith("with   JAX_DISABLE_JIT, XLA_FLAGS set;")]
    assert lines == len(shown)
    assert max(map(len, opening)) <= 80


def one_line(text_of_many: str) -> str:
    """Return a text as if no line of it had been broken."""
    return " ".join(text_of_many.split())


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("status", [one for one in STATUSES if one != "pass"])
def test_no_line_contradicts_its_verdict(status: Status, verbose: bool) -> None:
    """A claim appears without a verdict only if it holds."""
    bare = {**FINDING, "name": "what was looked at", "found": None, "expected": None}
    checks = content.read_checks()
    assert len(checks) > 90
    for check in checks:
        for findings in ((), ({**bare, "verdict": status},) if status in ("warn", "fail") else ()):
            one = result(status, check.id, title=check.title, findings=findings)
            shown = one_line(results_text.render_results(run_of(one), verbose=verbose))
            xml = ET.tostring(junit.make_suite(run_of(one)), encoding="unicode")
            claim = one_line(results_text.format_commands(check.title))
            for said in ("does not hold: ", "holds with a warning: "):
                shown, xml = shown.replace(said + claim, ""), xml.replace(said + check.title, "")
            assert claim not in shown, check.id
            assert check.title not in xml, check.id


@pytest.mark.parametrize("status", ["fail", "warn"])
def test_claim_without_finding_has_its_verdict(status: Status) -> None:
    """A check without a finding to show has its verdict and title as its summary."""
    said = {"fail": "does not hold", "warn": "holds with a warning"}[status]

    assert f"{said}: All is well." == results_text.summarize_result(
        result(status, title="All is well.", findings=())
    )


def test_bare_finding_says_that_claim_failed() -> None:
    """A failed finding without values says that its claim failed."""
    finding = {**FINDING, "verdict": "fail", "name": "tcmalloc", "found": None, "expected": None}

    assert "tcmalloc: not as it has to be" == results_text.finding_line(finding)


@pytest.mark.parametrize("columns", [50, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """No line is wider than the terminal, except commands, so no word is broken."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    finding = {**FINDING, "verdict": "fail", "name": "sum of the first hundred numbers"}
    passes = [result("pass", f"jax.n{n}") for n in range(5)]
    run = run_of(HOST, result("fail", findings=(finding,)), result("skip"), *passes)

    for folds in (False, True):
        shown = (
            results_text.format_opening(run)
            + "\n"
            + results_text.render_results(run, fold_passes=folds)
        )
        lines = [line for line in shown.splitlines() if "tpustarter" not in line]
        assert max(map(len, lines)) <= min(columns, 120)
        assert "sum of the first hundred numbers" in one_line(shown)


@pytest.mark.parametrize(("columns", "widest"), [(200, 120), (110, 110), (None, 80)])
def test_wide_terminal_is_used_up_to_120_columns(
    monkeypatch: pytest.MonkeyPatch, columns: int | None, widest: int
) -> None:
    """That is 120 columns; a pipe gets the 80 that every terminal has."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: columns is not None)
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((columns or 300, 24)))
    finding = {**FINDING, "verdict": "fail", "found": "word " * 80}
    shown = results_text.render_results(run_of(HOST, result("fail", findings=(finding,))))

    assert widest - 20 < max(map(len, shown.splitlines())) <= widest
    if columns:
        said = terminal.wrap_for_stream("error: " + "word " * 80, sys.stdout)
        assert widest - 5 < max(map(len, said.splitlines())) <= widest


@pytest.mark.parametrize(
    ("name", "value", "painted"),
    [("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)],
)
def test_words_are_coloured_on_capable_terminal(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, *, painted: bool
) -> None:
    """Words are coloured on a capable terminal, but not on a dumb one."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, value)

    assert painted == ("\x1b" in choose_paint({"pass": "green"})("pass", "pass"))
