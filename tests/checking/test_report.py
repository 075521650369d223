"""From results to a verdict, a device it holds for, an exit code, and every rendering."""

from __future__ import annotations

import itertools
import json
import re
import signal
import time
from dataclasses import replace
from importlib import resources
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.checking import document, junit, text, verdict
from tpustarter.checking.results import KINDS, STATUSES, Blocked, Result, Run
from tpustarter.problem import ExitCode, Problem
from tpustarter.redact import Redactor

SCHEMA = json.loads(resources.files("tpustarter.checking").joinpath("schema.json").read_text())
REASONS = {"error": "crashed", "skip": "not-applicable", "notrun": "interrupted"}
VIRTUAL = {"platform": "cpu", "kind": "cpu", "count": 8, "virtual": True}
TPU = {"platform": "tpu", "kind": "TPU v6 lite", "count": 8, "virtual": False}
FINDING = {
    "code": "SAMPLE-SUM", "name": "sum", "verdict": "ok", "found": 2, "expected": 2, "unit": None,
    "entity": None, "hint": None, "lesson": None,
}  # fmt: skip


def result(status: str, name: str = "jax.sample", **more: object) -> Result:
    """Return a result as the runner would make it."""
    ran_on = VIRTUAL if status in ("pass", "warn", "fail") and name.startswith("jax") else None
    verdicts = {"pass": "ok", "warn": "warn", "fail": "fail"}
    findings = ({**FINDING, "verdict": verdicts[status]},) if status in verdicts else ()
    made = Result(name, "a claim", status, REASONS.get(status), ran_on=ran_on, findings=findings,
                  lesson="jax/precision", framework=name.split(".", maxsplit=1)[0])  # fmt: skip
    return replace(made, **more)


def run_of(*results: Result, **more: object) -> Run:
    """Return a run with these results."""
    target = {
        "python": "/env/bin/python", "shown": "env/bin/python", "why": "--python", "devices": 8,
        "python_version": "3.12.1", "frameworks": {"jax": "0.12.0.1"}, "platform": "cpu",
        "kind": "cpu", "where": "8 virtual CPU devices", "virtual": True, "env": {}, "others": [],
    }  # fmt: skip
    host = {"chips": 0, "generation": None}
    made = Run("0.1.0", "2026-11-21T00:00:00+00:00", "quick", target=target, host=host)
    made.results = list(results)
    return replace(made, **more)


BUSY = Blocked("the TPU is in use by pid 7", ExitCode.BUSY, "wait")
HOST = result("pass", "host.sample")
BLOCKED = result("skip", reason="missing-resource", detail="in use")

VERDICTS = [
    # results, more of the run, verdict, exit code
    ([HOST, result("pass")], {}, "healthy", 0),
    ([HOST, result("warn")], {}, "degraded", 0),
    ([HOST, result("warn")], {"fail_on_warn": True}, "degraded", 4),
    ([HOST, result("pass"), result("fail", optional=True)], {}, "degraded", 0),
    ([HOST, result("pass"), result("fail")], {}, "unhealthy", 1),
    ([HOST, result("pass"), result("error")], {}, "inconclusive", 3),
    ([HOST, result("pass"), result("error", optional=True)], {}, "healthy", 0),
    ([HOST, result("pass"), result("skip")], {}, "healthy", 0),
    ([HOST, result("pass"), result("skip", reason="level")], {}, "healthy", 0),
    ([HOST, result("pass"), result("skip", reason="dependency")], {}, "inconclusive", 3),
    ([HOST, result("fail"), result("skip", reason="dependency")], {}, "unhealthy", 1),
    ([HOST, BLOCKED], {"blocked": BUSY}, "inconclusive", 75),
    ([HOST, BLOCKED], {"blocked": replace(BUSY, code=ExitCode.DENIED)}, "inconclusive", 77),
    ([HOST, BLOCKED, result("fail")], {"blocked": BUSY}, "unhealthy", 1),
    ([HOST, result("skip")], {}, "inconclusive", 5),
    ([HOST], {}, "healthy", 0),
    ([], {}, "inconclusive", 5),
    ([result("skip", "host.sample")], {}, "inconclusive", 5),
    ([HOST, result("pass")], {"require": "tpu"}, "healthy", 69),
    ([HOST, result("fail")], {"require": "tpu"}, "unhealthy", 69),
    ([HOST, result("error", reason="load")], {}, "inconclusive", 78),
    ([HOST, result("fail"), result("error", reason="load")], {}, "unhealthy", 78),
    ([HOST, result("fail")], {"stopped_by": signal.SIGINT}, "unhealthy", 130),
    ([HOST, result("notrun")], {"stopped_by": signal.SIGTERM}, "inconclusive", 143),
]


@pytest.mark.parametrize(("results", "more", "wanted", "code"), VERDICTS)
def test_results_become_a_verdict_and_an_exit_code(
    results: list[Result], more: dict[str, object], wanted: str, code: int
) -> None:
    """The table of verdicts and exit codes holds."""
    run = run_of(*results, **more)

    assert (wanted, code) == (verdict.verdict(run), verdict.exit_code(run))


def test_only_what_passed_on_a_tpu_is_verified_on_a_tpu() -> None:
    """One claim shown on virtual devices is enough to take the TPU out of the verdict."""
    on_tpu = result("pass", ran_on=TPU)

    assert verdict.verified_on(run_of(on_tpu)) == "tpu"
    assert verdict.verified_on(run_of(on_tpu, result("pass"))) == "virtual-cpu"
    assert verdict.verified_on(run_of(result("fail", ran_on=TPU))) == "none"
    assert verdict.verified_on(run_of(HOST)) == "none"


results_strategy = st.lists(
    st.builds(
        result,
        st.sampled_from(STATUSES),
        st.sampled_from(["host.a", "jax.b"]),
        optional=st.booleans(),
    ),
    max_size=6,
)
RANK = ["healthy", "degraded", "inconclusive", "unhealthy"]


@given(results_strategy)
def test_a_failure_more_never_improves_the_verdict(results: list[Result]) -> None:
    """Adding a failed check leaves the verdict as bad as it was, or worse."""
    before = verdict.verdict(run_of(*results))
    after = verdict.verdict(run_of(*results, result("fail")))

    assert RANK.index(after) >= RANK.index(before)


@given(results_strategy)
def test_every_document_fits_the_published_schema(results: list[Result]) -> None:
    """Any run gives a document the schema accepts, and its counts add up."""
    fields = json.loads(document.line(document.document(run_of(*results))))
    jsonschema.Draft202012Validator(SCHEMA).validate(fields)

    assert sum(fields["counts"].values()) == len(fields["results"])


def test_the_schema_refuses_what_is_no_report() -> None:
    """A report without `verified_on`, and a skip without a reason, are refused."""
    fields = document.document(run_of(HOST, result("skip")))
    without = {key: value for key, value in fields.items() if key != "verified_on"}
    fields["results"][1]["reason"] = None
    validator = jsonschema.Draft202012Validator(SCHEMA)

    assert not validator.is_valid(without)
    assert not validator.is_valid(fields)


def test_an_error_is_json_too() -> None:
    """What stands on stdout when no report could be made fits the schema."""
    for error, code in ((Problem("no", hint="yes", code=ExitCode.USAGE), 2), (ValueError("x"), 70)):
        fields = document.error_fields(error)
        jsonschema.Draft202012Validator(SCHEMA).validate(fields)

        assert fields["exit_code"] == code


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_place_in_junit(status: str) -> None:
    """No status vanishes from the XML, and the suite says where claims were verified."""
    root = ET.fromstring(ET.tostring(junit.suite(run_of(HOST, result("pass"), result(status)))))
    children = {
        "pass": "system-out", "warn": "system-out", "fail": "failure", "error": "error",
        "skip": "skipped", "notrun": "error",
    }  # fmt: skip
    last = root.findall("testcase")[-1]

    assert "virtual-cpu" in root.attrib["name"]
    assert [children[status]] == [child.tag for child in last]


def test_counts_in_junit_add_up() -> None:
    """Tests are the sum of those that passed, failed, broke and were skipped."""
    root = junit.suite(run_of(*(result(status) for status in STATUSES)))

    assert ("6", "1", "2", "1") == tuple(
        root.attrib[name] for name in ("tests", "failures", "errors", "skipped")
    )


NASTY = "\x1b[2J\x1b]0;owned\x07[bold]not markup[/] </testcase> & \x00 \u202e"


def test_no_escape_sequence_and_no_markup_survives() -> None:
    """Hostile text from a finding, a log or a device is shown as text in every rendering."""
    finding = {**FINDING, "verdict": "fail", "name": NASTY, "found": NASTY, "hint": NASTY}
    bad = result("fail", findings=(finding,), log=NASTY)
    broken = result("error", detail=NASTY, log=NASTY)
    run = run_of(bad, broken, blocked=replace(BUSY, what=NASTY))
    run.target["shown"] = NASTY
    shown = text.opening(run) + text.render(run, verbose=True)
    xml = ET.tostring(junit.suite(run), encoding="unicode")

    for control in ("\x1b", "\x07", "\x00", "\u202e"):
        assert control not in shown
        assert control not in xml
    assert "[bold]not markup[/]" in shown
    ET.fromstring(xml)


def test_text_is_worst_first_and_ends_with_the_whole_truth() -> None:
    """Failures come before passes, and the last line says what was tested."""
    shown = text.render(run_of(HOST, result("pass"), result("fail"))).splitlines()

    assert shown[0].startswith("FAIL  jax.sample")
    assert shown[-1] == (
        "2 of 3 claims hold on 8 virtual CPU devices, 1 does not. No TPU was tested."
    )


WARN = result("warn")
NO_TPU = result("skip", "host.chips", detail="no TPU on this machine")
HEADLINES = [
    # results, more of the run, the last line without what was not tested
    ([HOST, WARN], {}, "1 of 2 claims hold on 8 virtual CPU devices, 1 has a warning."),
    ([HOST, WARN, WARN], {}, "1 of 3 claims hold on 8 virtual CPU devices, 2 have warnings."),
    ([WARN], {}, "0 of 1 claims hold on 8 virtual CPU devices, 1 has a warning."),
    ([HOST, WARN, result("fail"), result("error"), result("skip", reason="dependency")], {},
     ("1 of 5 claims hold on 8 virtual CPU devices, 1 does not, 1 has a warning, 1 has no verdict, "
     "1 blocked by that.")),
    ([NO_TPU], {},
     "Nothing to check here: this check does not apply (no TPU on this machine)."),
    ([NO_TPU, NO_TPU, NO_TPU], {},
     "Nothing to check here: these 3 checks do not apply (no TPU on this machine)."),
    ([NO_TPU, result("skip", detail="this is not a container")], {},
     ("Nothing to check here: these 2 checks do not apply (no TPU on this machine; this is not a "
     "container).")),
    ([result("skip", detail="no framework yet")],
     {"blocked": Blocked("no framework yet", ExitCode.NOTHING_VERIFIED)},
     "Nothing was checked. No framework was started: no framework yet."),
    ([], {}, "Nothing was checked."),
]  # fmt: skip


@pytest.mark.parametrize(("results", "more", "says"), HEADLINES)
def test_a_headline_adds_up_and_can_be_read_alone(
    results: list[Result], more: dict[str, object], says: str
) -> None:
    """A claim with a warning is not among those that hold, and `0 of 0` is never said."""
    shown = text.headline(run_of(*results, **more))

    assert says == re.sub(r" No (TPU|device) was tested\.$", "", shown)


@given(results_strategy)
def test_the_numbers_of_a_headline_add_up(results: list[Result]) -> None:
    """Whatever came out: those that hold and all the others are the total."""
    shown = text.headline(run_of(*results)).replace("8 virtual", "virtual")
    numbers = [int(one) for one in re.findall(r"\b\d+\b", shown)]
    if numbers:
        hold, total, *others = numbers

        assert total == hold + sum(others)
    else:
        assert shown.startswith("Nothing was checked") or "does not apply" in shown


def finding(verdict_: str, name: str, found: object = 1, **more: object) -> dict[str, object]:
    """Return a finding as a check would tell it."""
    given = {**FINDING, "verdict": verdict_, "name": name, "found": found, "expected": None}
    return {**given, **more}


def test_what_stands_in_the_row_is_not_said_again() -> None:
    """With `-v` the finding of the row, its hint, and a hint shared by two are shown once."""
    told = (
        finding("info", "first", hint="look there"),
        finding("warn", "bad version", "3.11", expected="3.12", hint="set it up"),
        finding("info", "second", hint="look there"),
    )
    shown = text.render(run_of(result("warn", findings=told)), verbose=True)

    assert 1 == shown.count("bad version")
    assert 1 == shown.count("look there")
    assert 1 == shown.count("set it up")


def test_a_warning_before_a_failure_is_shown_beside_it() -> None:
    """The row tells the failure, the line below the warning, and neither twice."""
    told = (finding("warn", "soft"), finding("fail", "hard"))
    shown = text.render(run_of(result("fail", findings=told))).splitlines()

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
    """`found` stands beside what was expected, the unit once, the entity where it tells more."""
    assert line == text.finding_line(given_)


def test_only_folded_checks_are_said_to_be_named_by_v() -> None:
    """A skip that stands there with its id has nothing more to name."""
    one, two = result("skip", "host.a", detail="none"), result("skip", "host.b", detail="none")

    assert "-v names" not in text.render(run_of(HOST, one))
    assert "-v names" in text.render(run_of(HOST, one, two))


@given(results_strategy, st.booleans())
def test_text_stays_within_eighty_columns(results: list[Result], verbose: bool) -> None:
    """No line is wider than the narrowest terminal people use."""
    for line in text.render(run_of(*results), verbose=verbose).splitlines():
        assert len(line) <= 80


def test_healthy_is_never_said_without_where() -> None:
    """The word alone would claim more than was seen."""
    for statuses in itertools.combinations(STATUSES, 2):
        shown = text.render(run_of(*(result(status) for status in statuses)), verbose=True)

        assert "healthy" not in shown


def test_every_kind_has_a_rank() -> None:
    """The weakest kind wins, so each one has its place."""
    assert KINDS == ("none", "virtual-cpu", "cpu", "gpu", "tpu")


SECRETS = {
    "HF_TOKEN": "hf_AbCdEfGhIjKlMnOpQrSt",
    "WANDB_API_KEY": "0123456789abcdef0123",
    "DB_PASSWORD": "correct horse battery",
    "HOME": "/home/somebody",
}


@given(st.text(max_size=40), st.sampled_from(sorted(SECRETS)), st.text(max_size=40))
def test_a_seeded_secret_never_survives(before: str, name: str, after: str) -> None:
    """Whatever stands around it, a secret of the environment is taken out."""
    redacted = Redactor(SECRETS).text(before + SECRETS[name] + after)

    assert SECRETS[name] not in redacted


@pytest.mark.parametrize(
    "secret",
    [
        "ya29.a0AfH6SMBxyz-_123",
        "ghp_0123456789abcdefghij0123456789",
        "Authorization: Bearer abcdefgh12345678",
        "somebody@example.com",
        "projects/my-project-123/zones/us-central1-b",
        "password=hunter22",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    ],
)
def test_known_shapes_of_secrets_are_taken_out(secret: str) -> None:
    """Tokens, addresses and project names nobody told us about go too."""
    value = secret.rsplit(maxsplit=1)[-1] if "PRIVATE" not in secret else "MIIE"
    for word in ("my-project-123", value):
        assert word not in Redactor({}).text(f"log: {secret} end") or word == "log"


def test_a_short_word_is_no_secret() -> None:
    """A variable called TOKEN that says `true` does not blank every `true` of a report."""
    assert Redactor({"USE_TOKEN": "true"}).text("it is true") == "it is true"


@pytest.mark.parametrize("piece", ["x", "x-", "a.b@", "token ", "eyJ", "-----BEGIN KEY", "secret="])
def test_a_long_line_is_redacted_in_bounded_time(piece: str) -> None:
    """A block may print anything: no text makes the patterns search for ever."""
    began = time.monotonic()
    Redactor({}).text(piece * (256 * 1024 // len(piece)))

    assert time.monotonic() - began < 5
