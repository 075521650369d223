"""States in words: a row for each that Google's client knows, and none that it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cloud.real_errors import PROJECT, ZONE, wanted
from tests.support.fake_cloud import NEVER, channel, serving
from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.resources import Api, QueuedResource
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.cloud.create.follow_request import ENDS, QUEUED
from tpustarter.core.problem import ExitCode, Problem

TABLES = resource_states.read_states()
EVERY = [(table, state) for table, rows in TABLES.items() for state in rows.values()]


def test_table_has_row_for_each_enum_value() -> None:
    """A state that a newer client knows makes this fail."""
    from google.cloud import tpu_v2

    enums = {
        "queued_resources": tpu_v2.QueuedResourceState.State,
        "nodes": tpu_v2.Node.State,
        "health": tpu_v2.Node.Health,
        "symptoms": tpu_v2.Symptom.SymptomType,
    }

    assert {
        table: {value.name for value in enum if not value.name.endswith("_UNSPECIFIED")}
        for table, enum in enums.items()
    } == {table: set(rows) for table, rows in TABLES.items() if table in enums}


@pytest.mark.parametrize(("table", "state"), EVERY, ids=lambda one: getattr(one, "name", one))
def test_every_state_has_meaning_and_advice_in_sentences(
    table: str, state: resource_states.StateMeaning
) -> None:
    """Each row has its sources; one that cites reports has a report among them."""
    for text in filter(None, (state.meaning, state.do, state.next, state.spot_next, state.usually)):
        assert text[0].isupper(), text
        assert text.endswith("."), text
    assert all(re.fullmatch(r"https://\S+", source) for source in state.sources)
    if "public report" in state.usually + state.spot_next:
        assert [source for source in state.sources if "github.com" in source], state.name


def test_unrecoverable_states_advise_deletion() -> None:
    """FAILED and SUSPENDED hold name and quota; ACTIVE goes with its nodes."""
    for name in ("FAILED", "SUSPENDED"):
        state = resource_states.find_state("queued_resources", name)
        assert ("bad", True, False) == (state.mark, state.held, state.billed)
        assert "delete it" in state.do.lower()
    for name in ("PREEMPTED", "TERMINATED"):
        assert "bad" == resource_states.find_state("nodes", name).mark
    assert "refuses to delete" in resource_states.find_state("queued_resources", "PROVISIONING").do
    assert "together with its nodes" in resource_states.find_state("queued_resources", "ACTIVE").do


def test_states_agree_with_following_and_billing() -> None:
    """The words do not contradict what the code does in a state."""
    queued = {**TABLES["queued_resources"], **resource_states.read_compute_states()}

    assert {"good", "bad"} == {queued[name].mark for name in ENDS}
    for name in QUEUED:
        assert ("wait", False) == (queued[name].mark, queued[name].billed)
    assert {"ACTIVE", "PROVISIONING"} == {name for name, row in queued.items() if row.billed}
    assert TABLES["nodes"]["READY"].billed
    assert not TABLES["nodes"]["STOPPED"].billed


def test_next_steps_name_existing_states() -> None:
    """A misspelt state in a sentence is found."""
    names = {name for rows in TABLES.values() for name in rows}

    for _, state in EVERY:
        text = state.next + state.spot_next + state.do
        assert set() == set(re.findall(r"\b[A-Z_]{5,}\b", text)) - names


@pytest.mark.parametrize("api", ["cloud-tpu", "compute"])
def test_only_spot_tpus_are_pre_empted(api: Api) -> None:
    """A TPU on demand stays until it is deleted, so nothing is said to follow."""
    for tier in ("on-demand", "spot"):
        request = QueuedResource("p", ZONE, "bert", "ACTIVE", tier=tier, api=api)
        assert (tier == "spot") == bool(resource_states.find_state_meaning(request).next)


def test_unknown_state_is_named_and_counts_as_billed() -> None:
    """Unknown is shown as unknown, never as good."""
    new = resource_states.find_state("nodes", "17")

    assert ("17", "unknown", True, True) == (new.name, new.mark, new.billed, new.held)
    assert "not given" == resource_states.find_state("health", "").name


def test_listed_resources_have_state_rows() -> None:
    """The real client's answer finds its row."""
    with serving() as cloud:
        client = TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock)
        cloud.scripts[ZONE] = [(NEVER, None)]
        client.create(wanted())
        cloud.clock.sleep(60)
        resource = client.queued_resources().items[0]

        assert "WAITING_FOR_RESOURCES" == resource_states.find_state_meaning(resource).name
        assert not resource_states.is_leftover(resource)


def _file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "broken.yml"
    file.write_text(text, encoding="utf-8")
    return file


_SOUND = """queued_resources:
  ACTIVE:
    mark: good
    meaning: It is there.
    do: Connect.
    sources: [https://example.com/]
nodes: {}
health: {}
infra_health: {}
symptoms: {}
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("    do: Connect.\n", ""),
            (
                "the row `queued_resources.ACTIVE` of `broken.yml` cannot be used: object missing "
                "required field `do`"
            ),
        ),
        (("mark: good", "mark: nice"), "its `mark` is 'nice', expected one of good, wait"),
        (("mark: good", "mark: {a: b}"), "its `mark` is {'a': 'b'}, expected one of good"),
        (("do: Connect.", "do: 3"), "its `do` is 3, expected `str`"),
        (("do: Connect.", "do: Connect.\n    billed: perhaps"), "its `billed` is 'perhaps'"),
        (
            ("[https://example.com/]", "https://example.com/"),
            "its `sources` is 'https://example.com/', expected `array`",
        ),
        (("[https://example.com/]", "[]"), "it has no `sources`"),
        (("symptoms: {}\n", ""), "does not hold the tables queued_resources, nodes, health"),
        (("symptoms: {}", "symptoms: 3"), "`symptoms` in `broken.yml` holds no states"),
        (("symptoms: {}", "symptoms: {LOW: 3}"), "the row `symptoms.LOW` of `broken.yml` is 3"),
        ((_SOUND, "- 1\n"), "does not hold the tables"),
        ((_SOUND, "a: [\n"), "`broken.yml` cannot be read"),
    ],
)
def test_broken_state_file_is_one_error(
    tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    """Each mistake in the file is named with its row."""
    with pytest.raises(Problem) as caught:
        resource_states.read_states(_file(tmp_path, _SOUND.replace(*change)))

    assert "`broken.yml`" in caught.value.full_text
    assert expected in caught.value.full_text
    assert ExitCode.CONFIGURATION == caught.value.code


def test_sound_state_file_loads(tmp_path: Path) -> None:
    """The file that the broken ones are made from is sound itself."""
    read = resource_states.read_states(_file(tmp_path, _SOUND))

    assert ("good", False, True, "") == (
        read["queued_resources"]["ACTIVE"].mark,
        read["queued_resources"]["ACTIVE"].billed,
        read["queued_resources"]["ACTIVE"].held,
        read["queued_resources"]["ACTIVE"].usually,
    )
