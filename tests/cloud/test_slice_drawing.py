"""The picture of a slice: hosts, chips, and what Google says of each worker, in words."""

from __future__ import annotations

import pytest

from tpustarter.cloud.api.resources import NodeSymptom, TpuNode
from tpustarter.cloud.text import slice_drawing

TYPES = {1: "v6e-4", 4: "v6e-16", 16: "v6e-64", 64: "v6e-256"}


def sliced(
    hosts: int, *, state: str = "READY", addresses: int | None = None, **fields: object
) -> TpuNode:
    """Return a node of so many hosts with four chips each."""
    inside = tuple(f"10.0.0.{n}" for n in range(hosts if addresses is None else addresses))
    return TpuNode("p", "z", "bert", TYPES[hosts], state, internal_addresses=inside, **fields)  # type: ignore[arg-type]


def drawn(node: TpuNode) -> list[str]:
    """Return the lines of a picture."""
    return [begin + words for begin, words, _ in slice_drawing.draw_lines(node)]


def test_a_single_host_is_one_row() -> None:
    """A single host is one row with its chips and topology, like a slice of several hosts."""
    assert ["worker 0  [####]  ready"] == drawn(sliced(1))
    assert "1 host with 4 chips, topology 2x2" == slice_drawing.describe_slice_hosts(sliced(1))
    assert "4 hosts with 4 chips each, topology 4x4" == slice_drawing.describe_slice_hosts(
        sliced(4)
    )


def test_small_slice_has_row_per_host() -> None:
    """A symptom belongs to the worker that Google names, and a missing address is said."""
    symptoms = (NodeSymptom("HBM_OUT_OF_MEMORY", "bert-w-2", ""),)

    assert [
        "worker 0  [####]  ready",
        "worker 1  [####]  ready",
        "worker 2  [!!!!]  hbm out of memory",
        "worker 3  [!!!!]  no address",
    ] == drawn(sliced(4, symptoms=symptoms, addresses=3))


@pytest.mark.parametrize(
    ("state", "row"),
    [
        ("CREATING", "worker 0  [....]  creating"),
        ("STOPPED", "worker 0  [----]  stopped"),
        ("PREEMPTED", "worker 0  [!!!!]  preempted"),
        ("NEVER_HEARD_OF", "worker 0  [!!!!]  never heard of"),
    ],
)
def test_each_state_has_its_word_and_its_sign(state: str, row: str) -> None:
    """The sign repeats what the word says."""
    assert [row] == drawn(sliced(1, state=state, addresses=0))


def test_unhealthy_node_is_not_only_ready() -> None:
    """Google says so of the node, not of one worker."""
    rows = drawn(sliced(4, health="UNHEALTHY_TENSORFLOW"))

    assert all(row.endswith("[!!!!]  ready, unhealthy tensorflow") for row in rows)


def test_large_slice_is_folded_and_exceptions_are_named() -> None:
    """Sixteen workers in a row, each row counted; a few that differ by name, the rest counted."""
    symptoms = (NodeSymptom("LOW_MEMORY", "17", ""),)

    assert [
        "workers 0-15   [######## ########]  16 ready",
        "workers 16-31  [#!###### ########]  15 ready, 1 low memory",
        "workers 32-47  [######## ########]  16 ready",
        "workers 48-63  [######## ########]  16 ready",
        "worker 17      [!]                  low memory",
    ] == drawn(sliced(64, symptoms=symptoms))
    assert (
        "                                    4 more are not ready"
        == drawn(sliced(64, addresses=56))[-1]
    )


@pytest.mark.parametrize("hosts", TYPES)
@pytest.mark.parametrize("state", ["READY", "CREATING", "REPAIRING"])
def test_drawing_fits_sixty_columns_beside_label(hosts: int, state: str) -> None:
    """The app's labels and the scroll bar take twelve of them."""
    rows = drawn(sliced(hosts, state=state))

    assert 0 < len(rows) <= 9
    assert max(map(len, rows)) <= 48


def test_unknown_host_count_draws_nothing() -> None:
    """For a type that is not known here, Google's number of workers is taken, without chips."""
    unknown = TpuNode("p", "z", "bert", "v99-8", "READY")

    assert [] == drawn(unknown)
    assert ["worker 0  [#]  ready", "worker 1  [#]  ready"] == drawn(
        TpuNode("p", "z", "bert", "v99-8", "READY", workers=2)
    )
