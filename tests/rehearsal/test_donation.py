"""Arguments that could be donated: found in the first line of a program, and worded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rehearsal.test_rehearsal_text import made
from tpustarter.probe.rehearse import donation
from tpustarter.probe.rehearse.hlo import parse_program
from tpustarter.rehearsal.text.donation_text import describe_donation

ARRAY = "f32[1024,1024]{1,0:T(8,128)}"
TURNED = "f32[1024,1024]{0,1:T(8,128)}"
NAMES = ["params['w']", "params['b']", "state[0]", "x"]
MIB = 2**20


def find(aliases: str = "", arguments: str = "", results: str = "") -> Any:
    """Return the donations possible in a program with four arguments and three results."""
    arguments = arguments or ", ".join([ARRAY] * 3 + ["bf16[8,128]{1,0}"])
    results = results or ", ".join([ARRAY] * 3)
    header = f"HloModule jit_f, {aliases}entry_computation_layout={{({arguments})->({results})}}"
    return donation.find_undonated_arguments(header, parse_program(f"{header}\n"), NAMES, 32 * MIB)


FOUND = [
    # what the first line says, arguments to donate, MiB that are saved at most
    ({}, ["params", "state"], 12),
    ({"aliases": "input_output_alias={ {0}: (0, {}, may-alias) }, "}, ["params", "state"], 8),
    ({"aliases": "input_output_alias={ {2}: (1, {}, may-alias) }, "}, ["params", "state"], 8),
    ({"aliases": "buffer_donor={ (0, {}), (1, {}) }, "}, ["state"], 4),
    ({"arguments": ", ".join([ARRAY, TURNED, TURNED, TURNED])}, ["params"], 4),
    ({"results": f"{TURNED}, {ARRAY}, f32[]"}, ["params"], 4),
]


@pytest.mark.parametrize(("parts", "arguments", "mib"), FOUND)
def test_matching_arguments_are_found(
    parts: dict[str, str], arguments: list[str], mib: int
) -> None:
    """Shape, type and layout must match, and each result takes one argument's memory."""
    expected = {"arguments": arguments, "most_bytes": mib * MIB, "hbm_bytes": None}

    assert expected == find(**parts)


NOTHING = [
    {"results": "f32[], f32[], f32[]"},
    {"aliases": "buffer_donor={ (0, {}), (1, {}), (2, {}) }, "},
    {"aliases": "input_output_alias={ {0}: (0, {}), {1}: (1, {}), {2}: (2, {}) }, "},
    {"arguments": "f32[8]{0}, f32[8]{0}, f32[8]{0}, f32[8]{0}", "results": "f32[8]{0}, f32[]"},
]


@pytest.mark.parametrize("parts", NOTHING)
def test_nothing_to_donate_is_no_hint(parts: dict[str, str]) -> None:
    """Nothing is advised if all is donated, matches no result, or saves next to nothing."""
    assert find(**parts) is None


def test_arguments_without_names_give_no_hint() -> None:
    """Arguments without names give no hint, because there is no change to advise."""
    assert donation.make_donation_fields([0], [], 5) is None
    assert donation.make_donation_fields([0], ["[0]"], 5) is None


def test_function_of_pmap_donates_by_position() -> None:
    """A name is of no use there, nor is an argument that is no parameter."""
    fields: Any = {"arguments": ["state", "x"], "most_bytes": 2**30, "hbm_bytes": None}
    found = donation.add_positions(fields, ["x", "train", "state"])
    result = made("step", "v5e-8", donation=found, hbm_limit_bytes=16 * 2**30)

    assert fields == donation.add_positions(fields, [])
    assert fields | {"argnums": [2, 0]} == found
    assert donation.add_positions(fields, ["x"]) is None
    assert "`jax.pmap(..., donate_argnums=(2, 0))`" in describe_donation(result)


def test_each_result_matches_one_argument() -> None:
    """A result takes the memory of one argument, the first of its type."""
    assert [0, 2] == donation.list_donatable(["a", "a", "b", "c"], ["b", "a", "d"])


TEXTS = [
    # arguments, saved at most, needed when compiled so; words of the hint
    (["params", "state"], 2**30, None, ('("params", "state")', "saves up to 1.00 GiB")),
    (["params"], None, 12 * 2**30, ('("params",)', "makes it 12.00 GiB", "fits")),
    (["params"], None, 17 * 2**30, ('("params",)', "17.00 GiB", "too much")),
]


@pytest.mark.parametrize(("arguments", "most", "needed", "words"), TEXTS)
def test_hint_is_the_exact_change(
    arguments: list[str], most: int | None, needed: int | None, words: tuple[str, ...]
) -> None:
    """The hint is a change that can be typed, and says if its figure is only a bound."""
    fields = {"arguments": arguments, "most_bytes": most, "hbm_bytes": needed}
    text = describe_donation(made("step", "v5e-8", donation=fields, hbm_limit_bytes=16 * 2**30))

    assert [] == [word for word in words if word not in text]
