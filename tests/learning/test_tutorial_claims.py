"""Claims of older tutorials: each has an answer, and a proof where code can give one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import copies
from tpustarter.core import content
from tpustarter.core.problem import Problem
from tpustarter.learning.content import tutorial_claims

COUNTS = {"000": 20, "001": 43, "002": 17, "003": 27, "004": 36}
"""Claims of each of the five source documents."""

ENTRY = """- id: 000-01
  then: xrt is  fast
  status: gone
  now: XRT was removed
  lesson: null
  proof: null
  source: https://example.com
"""


def read(folder: Path, text: str) -> list[tutorial_claims.TutorialClaim]:
    """Return the claims of a text."""
    (folder / "then-now.yml").write_text(text)
    return tutorial_claims.read_claims(folder)


def test_every_claim_of_source_documents_has_answer() -> None:
    """Ids in each document count up from 01 without a gap or a repetition."""
    expected = {f"{doc}-{n:02}" for doc, count in COUNTS.items() for n in range(1, count + 1)}
    claims = tutorial_claims.read_claims()

    assert expected == {one.id for one in claims}
    assert len(expected) == len(claims)


def test_every_answer_points_to_existing_proof() -> None:
    """Every lesson, heading, block and check that an answer names exists."""
    check_ids = {one.id for one in content.read_checks()}

    assert [] == list(
        tutorial_claims.find_claim_mistakes(
            tutorial_claims.read_claims(), content.read_lessons(), check_ids
        )
    )


def test_every_answer_has_a_lesson_that_explains_it() -> None:
    """Every claim has a lesson."""
    assert [] == [one.id for one in tutorial_claims.read_claims() if one.lesson is None]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("XRT_TPU_CONFIG localservice", "002-12"),
        ("setup_tpu", "001-26"),
        ("xmap", "001-05"),
        ("jax.config import", "001-42"),
        ("v2-nightly", "001-12"),
        ("serverextension", "000-07"),
        ("contrib TPUEstimator", "003-03"),
        ("0.0.0.0/0", "001-11"),
        ("-f libtpu_releases", "001-17"),
        ("tensorflow-env-vars", "000-18"),
        ("DeviceArray", "001-31"),
        ("xla_dist", "004-09"),
        ("session_config", "003-07"),
        ("allow_soft_placement", "003-07"),
        ("host_call", "003-12"),
        ("iterations_per_loop", "003-07"),
        ("keras_to_tpu_model", "003-01"),
        ("hooks", "003-14"),
        ("train_batch_size", "003-15"),
        ("CrossShardOptimizer", "003-10"),
        ("metric_fn", "003-13"),
        ("batch_and_drop_remainder", "003-17"),
        ("use_tpu", "003-05"),
        ("large files", "003-24"),
    ],
)
def test_old_tutorial_words_find_their_claim_first(typed: str, found: str) -> None:
    """Commands, flags and names of old tutorials find their claim first."""
    assert found == tutorial_claims.search_claims(tutorial_claims.read_claims(), typed)[0].id


def test_linter_names_broken_answer(tmp_path: Path) -> None:
    """Every kind of broken reference is reported."""
    [sound] = read(tmp_path, ENTRY)
    lessons = content.read_lessons()
    more = [
        ENTRY.replace("lesson: null", "lesson: jax/nowhere").replace("000-01", "a"),
        ENTRY.replace("lesson: null", "lesson: jax/precision#nowhere").replace("000-01", "b"),
        ENTRY.replace("proof: null", "proof: jax/precision#nowhere").replace("000-01", "c"),
        ENTRY.replace("proof: null", "proof: jax.nowhere").replace("000-01", "d"),
        ENTRY.replace("https://", "").replace("000-01", "e"),
        ENTRY + ENTRY,
    ]
    claims = [one for text in more for one in read(tmp_path, text)]
    told = list(tutorial_claims.find_claim_mistakes(claims, lessons, {"jax.precision"}))

    assert "xrt is fast" == sound.then
    for wanted in (
        "`jax/nowhere`",
        "no such heading",
        "no such block",
        "no such check",
        "`e` has no public source",
        "a second claim `000-01`",
    ):
        assert any(wanted in one for one in told), wanted


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "- 3",
        ENTRY.replace("gone", "dead"),
        ENTRY.replace("  then: xrt is  fast\n", ""),
        ENTRY + "  more: 1\n",
        ENTRY.replace("XRT was removed", "3"),
    ],
)
def test_a_broken_file_is_one_problem(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    with pytest.raises(Problem, match=r"cannot read the claims in .*then-now\.yml"):
        read(tmp_path, text)


def test_search_needs_every_word_and_ranks_old_side(tmp_path: Path) -> None:
    """A claim must have every word, and matches in its old text come first."""
    text = ENTRY.replace("000-01", "b").replace("xrt is  fast", "slow") + ENTRY
    found = tutorial_claims.search_claims(read(tmp_path, text), "XRT")

    assert ["000-01", "b"] == [one.id for one in found]
    assert [] == tutorial_claims.search_claims(found, "xrt nowhere")


def old(text: str) -> subprocess.CompletedProcess[str]:
    """Look a claim up on the command line."""
    command = [sys.executable, "-m", "tpustarter", "learn", "--old", text]
    return copies.run(command)


def test_command_prints_then_now_and_source() -> None:
    """A known claim prints all four parts; an unknown one exits with 5 and says so."""
    known, unknown = old("XRT"), old("no such words")

    assert known.returncode == 0
    for wanted in ("  then ", "  now ", "  shown by ", "  source   https://"):
        assert wanted in known.stdout
    assert max(map(len, known.stdout.splitlines())) <= 80 or "https://" in known.stdout
    assert unknown.returncode == 5
    assert "no older claim is about" in unknown.stderr


def test_synonyms_and_ids_find_claim() -> None:
    """Words in no claim are searched everywhere with synonyms; a claim's id finds that claim."""
    assert [] == tutorial_claims.search_claims(tutorial_claims.read_claims(), "oom")
    assert "memory" in old("oom").stdout
    assert ["001-05"] == [
        line.partition("(no. ")[2][:6]
        for line in old("001-05").stdout.splitlines()
        if not line.startswith(" ")
    ]
