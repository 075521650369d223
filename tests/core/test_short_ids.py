"""Resolving ids as people type them, and errors for ambiguous or unknown ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.core import content, short_ids
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import WIDTH

TITLES = {
    "jax/precision": "Precision",
    "jax/64-bit": "64-bit numbers",
    "jax/sharding": "Shard arrays",
    "jax/is-it-really-the-tpu": "Is it?",
    "pytorch/precision": "Precision and dtypes",
    "setup/install-jax": "Install JAX",
    "jax.matmul_rate": "Large matmuls are right",
}


def find(typed: str, preferred: tuple[str, ...] = ()) -> str:
    """Find an id among the samples."""
    return short_ids.find_id(
        typed, TITLES, kind="lesson", listed_by="tpustarter learn", preferred=preferred
    )


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("jax/precision", "jax/precision"),
        ("sharding", "jax/sharding"),
        ("Sharding", "jax/sharding"),
        ("64_bit", "jax/64-bit"),
        ("jax.64-bit", "jax/64-bit"),
        ("shard", "jax/sharding"),
        ("really the tpu", "jax/is-it-really-the-tpu"),
        ("lessons/jax/21-64-bit.md", "jax/64-bit"),
        ("checks/jax/matmul_rate.py", "jax.matmul_rate"),
        ("matmul-rate", "jax.matmul_rate"),
        ("jax/prec", "jax/precision"),
    ],
)
def test_unambiguous_name_is_resolved(typed: str, expected: str) -> None:
    """A last part, a piece or a file name of one id finds it, however its words are joined."""
    assert expected == find(typed)


def test_ambiguous_name_lists_ids_with_titles() -> None:
    """The last part shared by two lessons is refused, with both ids and titles."""
    with pytest.raises(Problem) as refused:
        find("precision")

    assert refused.value.code == ExitCode.USAGE
    assert refused.value.full_text == "`precision` can be each of 2 lessons"
    assert refused.value.hint == (
        "name one of them:\n  jax/precision      Precision\n"
        "  pytorch/precision  Precision and dtypes"
    )


def test_preferred_match_of_several_is_taken() -> None:
    """A single preferred match wins; several preferred matches are still ambiguous."""
    both = ("jax/precision", "pytorch/precision")

    assert find("precision", ("pytorch/precision", "jax/64-bit")) == "pytorch/precision"
    with pytest.raises(Problem, match="each of 2"):
        find("precision", both)


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("jax/precisoin", ["jax/precision"]),
        ("precisoin", ["jax/precision", "pytorch/precision"]),
        ("shrading", ["jax/sharding"]),
        ("instal-jaxx", ["setup/install-jax"]),
        ("intsall", ["setup/install-jax"]),
        ("reallt", ["jax/is-it-really-the-tpu"]),
        ("arrays", ["jax/sharding"]),
        ("large matmuls", ["jax.matmul_rate"]),
        ("jax/precision-again", ["jax/precision"]),
        ("64bit", ["jax/64-bit"]),
        ("flax/precision-notes", []),
        ("bogus", []),
        ("recursion", []),
        ("zzz", []),
        ("jax/nosuch", []),
        ("ja", []),
        ("/", []),
        ("..", []),
    ],
)
def test_unknown_id_gets_nearest_names(typed: str, near: list[str]) -> None:
    """An unknown id lists the nearest names, or else the command that lists all."""
    with pytest.raises(Problem, match="there is no lesson") as refused:
        find(typed)

    hint = refused.value.hint or ""
    assert near == [name for name in TITLES if name in hint]
    assert bool(near) == ("did you mean" in hint)
    assert bool(near) != ("`tpustarter learn` lists them" in hint)


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("trian.log", "train.log"),
        ("train-log", "train.log"),
        ("train.log.1", "train.log"),
        ("train", "train.log"),
        ("nothere.log", None),
        ("early.log", None),
    ],
)
def test_missing_file_suggests_only_similar_files(
    typed: str, near: str | None, tmp_path: Path
) -> None:
    """A shared file ending alone does not make two names similar."""
    for name in ("train.log", "log"):
        (tmp_path / name).touch()

    assert (tmp_path / near if near else None) == short_ids.find_nearest_file(tmp_path / typed)


def test_many_matches_are_cut_with_whole_parts_first() -> None:
    """Many matches are cut, and ids with the whole part come before matches in titles."""
    with pytest.raises(Problem) as refused:
        content.find_lesson("jax", content.read_lessons())
    hint = refused.value.hint or ""

    assert short_ids.MOST == hint.count("\n  ")
    assert "  jax/how-fast " in hint
    assert "setup/install-jax" not in hint
    assert hint.endswith("more: `tpustarter learn -v` lists them")


def test_name_of_several_checks_suggests_pattern() -> None:
    """The hint suggests a glob pattern that `check` accepts."""
    checks = content.read_checks()
    with pytest.raises(Problem) as refused:
        content.select_checks(checks, ["precision"], "quick", None)
    hint = refused.value.hint or ""

    assert hint.endswith("or several at once: `tpustarter check '*precision*'`")
    run = content.select_checks(checks, ["*precision*"], "quick", None)
    assert len(run) > 3
    assert all(f"  {check.id} " in hint for check in run)
    assert all(len(line) <= WIDTH for line in hint.splitlines())  # a title is not broken by chance


def test_check_is_found_by_part_and_framework() -> None:
    """`matmul_precision` is a check of several frameworks, and one of them is preferred."""
    checks = content.read_checks()

    assert ["jax.default_precision"] == [
        check.id for check in content.select_checks(checks, ["default-precision"], "static", None)
    ]
    assert content.find_check("matmul_precision", checks, {"jax"}) == "jax.matmul_precision"
    (meant,) = content.select_checks(checks, ["matmul-precision"], "quick", None, {"jax"})
    (asked,) = content.select_checks(checks, ["matmul-precision"], "quick", "torch_xla", {"jax"})
    assert ("jax.matmul_precision", "torch_xla.matmul_precision") == (meant.id, asked.id)
    with pytest.raises(Problem, match="each of 4 checks"):
        content.select_checks(checks, ["matmul_precision"], "quick", None)


@given(st.text())
def test_any_text_is_an_id_or_a_problem(typed: str) -> None:
    """Any typed text gives an id or a problem with a hint."""
    try:
        answer = find(typed)
    except Problem as problem:
        answer = problem.hint

    assert answer
