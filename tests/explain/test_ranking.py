"""The order of the failures in a log: causes before consequences, and how sure each is."""

from __future__ import annotations

import io

import pytest

from tests.support.failures import explain, failure
from tpustarter.explain import explanation_text, failure_ranking, machine_evidence
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.known_failures import KnownFailure
from tpustarter.explain.log_scanner import FailureScanner
from tpustarter.explain.machine_evidence import MachineEvidence

ROOT = failure("root", shows=["root cause"], explains=["peer"])
PEER = failure("peer", role="symptom", shows=["peer died"])
SLOW = failure("slow", role="notice", shows=["slow start"])
WEAK = failure("weak", suggests=["some sign", "another sign"])
FULL = failure("full", shows=["no space left"], needs=[r"\btpu\b"], unless=["cuda"])
ALL = (ROOT, PEER, SLOW, WEAK, FULL)


def ranked(log: str, *rows: KnownFailure) -> list[FailureMatch]:
    """Return the matches of rows in a log; by default, of the rows above."""
    rows = rows or ALL
    return failure_ranking.rank_failures(FailureScanner(rows).scan(io.BytesIO(log.encode())), rows)


def names(log: str) -> list[str]:
    """Return the ids of the failures in a log, in order."""
    return [match.failure.id for match in ranked(log)]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("nothing of it", []),
        ("peer died\nroot cause", ["root", "peer"]),
        ("slow start\npeer died", ["peer", "slow"]),
        ("slow start\nroot cause", ["root", "slow"]),
        ("some sign\nroot cause", ["root", "weak"]),
        ("some sign\nanother sign\nroot cause", ["weak", "root"]),
        ("no space left", []),
        ("no space left on the TPU", ["full"]),
        ("no space left on the TPU\nCUDA error", []),
        ("root cause\nCUDA error", []),
        ("root cause\nCUDA error, no output", []),
        ("root cause\nxla_bridge:752: Unable to initialize backend 'tpu': ...\nCUDA error", []),
        ("root cause\nRuntimeError: Unable to initialize backend 'tpu'\nCUDA error", ["root"]),
        ("tputputpu no space left", []),
    ],
)
def test_root_cause_comes_first(log: str, expected: list[str]) -> None:
    """Confirmed causes come before likely ones, and warnings come last."""
    assert expected == names(log)


def test_consequence_names_its_visible_cause() -> None:
    """Without it the symptom is all there is."""
    assert ["", "root"] == [match.explained_by for match in ranked("peer died\nroot cause")]
    assert [""] == [match.explained_by for match in ranked("peer died")]


@pytest.mark.parametrize(
    ("log", "confidence"),
    [
        ("root cause", "likely"),
        ("some sign", "possible"),
        ("some sign, some sign", "possible"),
        ("some sign, another sign", "likely"),
    ],
)
def test_confidence_follows_strength_of_signs(log: str, confidence: str) -> None:
    """Confidence follows the strength of the signs: repeating a weak one adds nothing."""
    assert [confidence] == [match.confidence for match in ranked(log)]


HELD = failure("held", shows=["in use"], confirm=["HOST-HOLDER-PROCESS", "HOST-HOLDER-LOCK"])
WRONG = failure("wrong", shows=["variable"], confirm=["HOST-ENVIRONMENT-VALUE JAX_PLATFORMS"])


def finding(code: str, verdict: str, found: str) -> dict[str, object]:
    """Return a finding of a host check."""
    return {
        "code": code,
        "name": "what was looked at",
        "verdict": verdict,
        "found": found,
        "expected": None,
        "unit": None,
        "entity": None,
        "hint": None,
    }


def seen_here(log: str, *findings: dict[str, object], has_tpu: bool = True) -> list[FailureMatch]:
    """Return the matches in a log, after a look at a machine where this was found."""
    evidence = MachineEvidence(findings, has_tpu)
    return machine_evidence.add_machine_evidence(ranked(log, HELD, WRONG), evidence)


def test_finding_on_this_machine_confirms_failure() -> None:
    """A host check's finding on this machine confirms the failure and is quoted."""
    match = seen_here("in use", finding("HOST-HOLDER-PROCESS", "warn", "pid 42"))[0]

    assert ("confirmed", "what was looked at: found pid 42") == (match.confidence, match.here)


def test_refuted_failure_ranks_lower_on_tpu_machine() -> None:
    """A failure that the machine refutes ranks lower, but only on a machine with a TPU."""
    free = finding("HOST-HOLDER-LOCK", "ok", "absent")

    match = seen_here("in use", free)[0]
    assert ("possible", "not so now: what was looked at: absent") == (match.confidence, match.here)
    match = seen_here("in use", free, has_tpu=False)[0]
    assert ("likely", "") == (match.confidence, match.here)
    assert "likely" == seen_here("in use")[0].confidence


def test_missing_tpu_comes_first_in_explanation() -> None:
    """On a machine without a TPU the first fix says so; if that's unknown, it isn't mentioned."""
    row = failure("no-library", shows=["no libtpu"], without_tpu="use the CPU")

    def first_fix(has_tpu: bool | None) -> tuple[str, str]:
        matches = ranked("no libtpu", row)
        match = machine_evidence.add_machine_evidence(matches, MachineEvidence((), has_tpu))[0]
        return match.here, explanation_text.list_fixes(match, "python3")[0]

    assert "this machine has no TPU" == first_fix(has_tpu=False)[0]
    assert first_fix(has_tpu=False)[1].startswith("If the program ran here, use the CPU.")
    assert ("", "Mend no-library.") == first_fix(has_tpu=True) == first_fix(has_tpu=None)
    assert machine_evidence.can_confirm(ranked("no libtpu", row))


def test_unrelated_finding_confirms_nothing() -> None:
    """A finding about another variable of the same check confirms nothing."""
    other = finding("HOST-ENVIRONMENT-VALUE", "fail", "XLA_FLAGS")
    same = finding("HOST-ENVIRONMENT-VALUE", "fail", "JAX_PLATFORMS is 'tpuu'")

    assert "likely" == seen_here("variable", other)[0].confidence
    assert "confirmed" == seen_here("variable", other, same)[0].confidence


@pytest.mark.parametrize(
    ("found", "verdict", "confidence"),
    [
        ("removed", "info", "confirmed"),
        ("removed in part", "info", "likely"),
        ("removed", "ok", "likely"),
        ("nothing", "info", "likely"),
    ],
)
def test_fact_confirms_by_found_text_alone(found: str, verdict: str, confidence: str) -> None:
    """A finding that judges nothing is there on every machine that was looked at."""
    row = failure("old", shows=["no attribute"], confirm=["HOST-OLD removed"])
    seen = machine_evidence.add_machine_evidence(
        ranked("no attribute", row),
        MachineEvidence((finding("HOST-OLD", verdict, found),), False),
    )

    assert confidence == seen[0].confidence


def test_fact_without_pattern_confirms_nothing() -> None:
    """A fact without a pattern confirms nothing, or else every reported fact would."""
    told = finding("HOST-HOLDER-PROCESS", "info", "none")

    assert "likely" == seen_here("in use", told, has_tpu=False)[0].confidence


def test_confirmed_failure_comes_first() -> None:
    """Looking may change the order."""
    matches = seen_here(
        "in use\nvariable", finding("HOST-ENVIRONMENT-VALUE", "fail", "JAX_PLATFORMS")
    )
    assert ["wrong", "held"] == [match.failure.id for match in matches]


def test_cause_line_is_not_called_harmless() -> None:
    """A line that names libtpu as missing isn't called harmless, despite its harmless words."""
    log = (
        "RuntimeError: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: "
        "libtpu.so: cannot open shared object file\n"
    )
    told = explanation_text.render_explanation(explain(log))

    assert "no usable libtpu" in told
    assert "Harmless" not in told


NOTICES = (
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'cuda': \n",
    "INFO:jax:Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: no file\n",
    "tcmalloc: large alloc 4294967296 bytes == 0x4b6a000 @  0x7f65c1055680\n",
)
CUT = (
    "Traceback (most recent call last",
    'Traceback (most recent call last):\n  File "/home/ann/run.py", line 72, in <module>\n',
)
RAISED = f"{CUT[1]}    main()\nRuntimeError: the pot is empty\n"


@pytest.mark.parametrize("notice", NOTICES)
@pytest.mark.parametrize(
    ("before", "after", "error"),
    [("", CUT[0], ""), ("", CUT[1], ""), ("", RAISED, "RuntimeError: the pot is empty"),
     (RAISED, "", "RuntimeError: the pot is empty"),
     ("RuntimeError: the pot is empty\n", "", "RuntimeError: the pot is empty"),
     ("RuntimeError: the pot is empty\n", CUT[0], "RuntimeError: the pot is empty")],
)  # fmt: skip
def test_notice_never_answers_for_error(notice: str, before: str, after: str, error: str) -> None:
    """The error comes first, and the harmless line after it."""
    found = explain(f"tpu\n{before}{notice}{after}")
    told = explanation_text.render_explanation(found)

    assert not found.is_explained
    assert error == found.last_error
    assert told.startswith("No known failure of a TPU matches")
    assert "harmless" in told.partition("The log also shows:")[2]
    assert (after in CUT) == ("cut off" in told)


def test_overlapping_quotes_of_a_line_are_shown_once() -> None:
    """A long line that shows a failure twice is quoted once."""
    row = failure("long", shows=["first words", "last words"])
    log = f"x {'far ' * 30}first words {'between ' * 20}last words {'after ' * 60}\n"
    matches = tuple(ranked(log, row))
    text = explanation_text.render_explanation(Explanation(matches, 1, "", ""))

    assert 2 == len({sign.quote for sign in matches[0].signs})
    assert 1 == text.count("line 1")
