"""Real failures: produced here, explained, fixed as suggested, and gone afterwards.

`python -m tests.explain.produce` prints the whole table; these are the rows that take a second
each. With `TPUSTARTER_LIBTPU_PYTHON`, as root, some of those that need the real libtpu run too.
"""

from __future__ import annotations

import pytest

from tests.explain import produce, staged
from tests.support.needs import FAKED_VM, LIBTPU
from tpustarter.explain import known_failures

ROWS = {row["id"]: row for row in produce.read()}
QUICK = ("jax-platforms-typo", "distributed-init-no-cluster")
"""Rows that need nothing but the JAX of the tests."""
ON_A_FAKED_VM = ("libtpu-lockfile-held", "tpu-in-use-other-user")


def assert_right(one: produce.Produced) -> None:
    """Assert that a row failed, was explained first, and was fixed."""
    assert not one.broken, one.broken
    assert 1 == one.said["rank"], one.said["all"]
    assert one.is_right, one.said["fixed"]


@pytest.mark.parametrize("name", QUICK)
def test_a_failure_is_explained_and_mended(name: str) -> None:
    """The program fails for the real reason, and runs after the fix."""
    assert_right(produce.produce(ROWS[name]))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[*FAKED_VM, LIBTPU]) for name in ON_A_FAKED_VM]
)
def test_real_libtpu_failure_is_confirmed_and_corrected(name: str) -> None:
    """A look at the machine confirms it; without chips the next failure is that there are none."""
    one = produce.produce(ROWS[name])

    assert_right(one)
    assert "confirmed" == one.said["seen"]


def test_reproducible_rows_exist_in_table() -> None:
    """Each failure has a row in `failures.yml`, and states its needs and its ending."""
    assert len(ROWS) >= 30
    assert not ROWS.keys() - {one.id for one in known_failures.read_known_failures()}
    for row in ROWS.values():
        assert row["how"], row["id"]
        assert ("fix" in row) != ("unfixed" in row), row["id"]
        assert {"program", "run"} & row.keys(), row["id"]
        assert row.get("fix", {"by": "command"})["by"] in ("--fix", "command", "sentence")


def test_persistent_failure_is_reported() -> None:
    """A fix that does not help is no fix."""
    says = "echo ValueError: coordinator_address should be defined.; exit 1"
    row = {**ROWS["distributed-init-no-cluster"], "run": says}
    row["fix"] = {"by": "sentence", "says": "coordinator_address"}
    one = produce.produce(row)

    assert 1 == one.said["rank"]
    assert not one.is_right
    assert "**still fails**" in produce.line(one)


def test_command_of_fix_is_extracted_from_sentence() -> None:
    """The command of a fix is found in backticks within a sentence, or is the whole text."""
    assert "unset JAX_PLATFORMS" == staged.command_in("Run `unset JAX_PLATFORMS`.")
    assert "unset JAX_PLATFORMS" == staged.command_in("unset JAX_PLATFORMS")
