"""The picture of a slice: hosts, chips, and what Google says of each worker, in words."""

from __future__ import annotations

import pytest

from tpustarter.cloud import drawing
from tpustarter.cloud.resources import Node, Symptom

TYPES = {1: "v6e-4", 4: "v6e-16", 16: "v6e-64", 64: "v6e-256"}


def sliced(
    hosts: int, *, state: str = "READY", addresses: int | None = None, **fields: object
) -> Node:
    """Return a node of so many hosts with four chips each."""
    inside = tuple(f"10.0.0.{n}" for n in range(hosts if addresses is None else addresses))
    return Node("p", "z", "bert", TYPES[hosts], state, internal_addresses=inside, **fields)  # type: ignore[arg-type]


def drawn(node: Node) -> list[str]:
    """Return the lines of a picture."""
    return [begin + words for begin, words, _ in drawing.text(node)]


def test_a_single_host_is_one_row() -> None:
    """With its chips, and no topology of a type whose topology was never measured."""
    assert ["worker 0  [####]  ready"] == drawn(sliced(1))
    assert "1 host with 4 chips, topology 2x2" == drawing.title(sliced(1))
    assert "4 hosts with 4 chips each" == drawing.title(sliced(4))


def test_every_host_of_a_small_slice_has_a_row_with_its_state() -> None:
    """A symptom belongs to the worker that Google names, and a missing address is said."""
    symptoms = (Symptom("HBM_OUT_OF_MEMORY", "bert-w-2", ""),)

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


def test_a_node_that_is_not_healthy_is_not_called_ready_alone() -> None:
    """Google says so of the node, not of one worker."""
    rows = drawn(sliced(4, health="UNHEALTHY_TENSORFLOW"))

    assert all(row.endswith("[!!!!]  ready, unhealthy tensorflow") for row in rows)


def test_a_large_slice_is_folded_and_what_differs_is_named() -> None:
    """Sixteen workers in a row, each row counted; a few that differ by name, the rest counted."""
    symptoms = (Symptom("LOW_MEMORY", "17", ""),)

    assert [
        "workers 0-15   [######## ########]  16 ready",
        "workers 16-31  [#!###### ########]  15 ready, 1 low memory",
        "workers 32-47  [######## ########]  16 ready",
        "workers 48-63  [######## ########]  16 ready",
        "worker 17      [!]                  low memory",
    ] == drawn(sliced(64, symptoms=symptoms))
    assert "                                    4 more are not ready" == drawn(
        sliced(64, addresses=56)
    )[-1]  # fmt: skip


@pytest.mark.parametrize("hosts", TYPES)
@pytest.mark.parametrize("state", ["READY", "CREATING", "REPAIRING"])
def test_it_fits_sixty_columns_beside_a_label(hosts: int, state: str) -> None:
    """The app's labels and the scroll bar take twelve of them."""
    rows = drawn(sliced(hosts, state=state))

    assert 0 < len(rows) <= 9
    assert max(map(len, rows)) <= 48


def test_nothing_is_drawn_where_nobody_said_how_many_hosts_there_are() -> None:
    """For a type that is not known here, Google's number of workers is taken, without chips."""
    unknown = Node("p", "z", "bert", "v99-8", "READY")

    assert [] == drawn(unknown)
    assert ["worker 0  [#]  ready", "worker 1  [#]  ready"] == drawn(
        Node("p", "z", "bert", "v99-8", "READY", workers=2)
    )
