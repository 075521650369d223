"""States in words: a row for each that Google's client knows, and none that it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cloud.real_errors import PROJECT, ZONE, wanted
from tests.support.fake_cloud import NEVER, channel, serving
from tpustarter.cloud import states
from tpustarter.cloud.client import Client
from tpustarter.cloud.follow import ENDS, QUEUED
from tpustarter.problem import ExitCode, Problem

TABLES = states.read()
EVERY = [(table, state) for table, rows in TABLES.items() for state in rows.values()]


def test_there_is_a_row_for_each_value_of_googles_enums() -> None:
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
    } == {table: set(rows) for table, rows in TABLES.items()}


@pytest.mark.parametrize(("table", "state"), EVERY, ids=lambda one: getattr(one, "name", one))
def test_every_state_says_in_whole_sentences_what_it_means_and_what_to_do(
    table: str, state: states.State
) -> None:
    """Each row has its sources; one that cites reports has a report among them."""
    for text in filter(None, (state.meaning, state.do, state.next, state.usually)):
        assert text[0].isupper(), text
        assert text.endswith("."), text
    assert all(re.fullmatch(r"https://\S+", source) for source in state.sources)
    if "public report" in state.usually:
        assert [source for source in state.sources if "github.com" in source], state.name


def test_the_states_that_cannot_recover_say_that_they_must_be_deleted() -> None:
    """FAILED and SUSPENDED hold name and quota; ACTIVE goes with its nodes."""
    for name in ("FAILED", "SUSPENDED"):
        state = states.of("queued_resources", name)
        assert ("bad", True, False) == (state.mark, state.held, state.billed)
        assert "delete it" in state.do.lower()
    for name in ("PREEMPTED", "TERMINATED"):
        assert "bad" == states.of("nodes", name).mark
    assert "refuses to delete" in states.of("queued_resources", "PROVISIONING").do
    assert "together with its nodes" in states.of("queued_resources", "ACTIVE").do


def test_states_fit_to_what_following_and_billing_take_them_for() -> None:
    """The words do not contradict what the code does in a state."""
    queued = TABLES["queued_resources"]

    assert {"good", "bad"} == {queued[name].mark for name in ENDS}
    for name in QUEUED:
        assert ("wait", False) == (queued[name].mark, queued[name].billed)
    assert {"ACTIVE", "PROVISIONING"} == {name for name, row in queued.items() if row.billed}
    assert TABLES["nodes"]["READY"].billed
    assert not TABLES["nodes"]["STOPPED"].billed


def test_what_comes_next_names_states_that_exist() -> None:
    """A misspelt state in a sentence is found."""
    names = {name for rows in TABLES.values() for name in rows}

    for _, state in EVERY:
        assert set() == set(re.findall(r"\b[A-Z_]{5,}\b", state.next + state.do)) - names


def test_a_state_that_google_has_added_since_is_named_and_counts_as_billed() -> None:
    """Unknown is shown as unknown, never as good."""
    new = states.of("nodes", "17")

    assert ("17", "unknown", True, True) == (new.name, new.mark, new.billed, new.held)
    assert "not given" == states.of("health", "").name


def test_states_of_what_the_server_lists() -> None:
    """The real client's answer finds its row."""
    with serving() as cloud:
        client = Client(PROJECT.name, channel=channel(cloud), clock=cloud.clock)
        cloud.scripts[ZONE] = [(NEVER, None)]
        client.create(wanted())
        cloud.clock.sleep(60)
        resource = client.queued_resources().items[0]

        assert "WAITING_FOR_RESOURCES" == states.of_resource(resource).name
        assert not states.is_leftover(resource)


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
symptoms: {}
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("    do: Connect.\n", ""), ("the row `queued_resources.ACTIVE` of `broken.yml` cannot be "
         "used: it has no `do`")),
        (("mark: good", "mark: nice"), "its mark is 'nice', not one of good, wait"),
        (("mark: good", "mark: {a: b}"), "its mark is {'a': 'b'}, not one of good"),
        (("do: Connect.", "do: 3"), "its `do` is 3, expected a text"),
        (("do: Connect.", "do: Connect.\n    billed: perhaps"), "its `billed` is 'perhaps'"),
        (("[https://example.com/]", "https://example.com/"), "expected a list of texts"),
        (("[https://example.com/]", "[]"), "its `sources` is [], expected a list of texts"),
        (("symptoms: {}\n", ""), "does not hold the tables queued_resources, nodes, health"),
        (("symptoms: {}", "symptoms: 3"), "`symptoms` in `broken.yml` holds no states"),
        (("symptoms: {}", "symptoms: {LOW: 3}"), "the row `symptoms.LOW` of `broken.yml` is 3"),
        ((_SOUND, "- 1\n"), "does not hold the tables"),
        ((_SOUND, "a: [\n"), "`broken.yml` cannot be read"),
    ],
)  # fmt: skip
def test_a_broken_file_of_states_gives_one_clear_error(
    tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    """Each mistake in the file is named with its row."""
    with pytest.raises(Problem) as caught:
        states.read(_file(tmp_path, _SOUND.replace(*change)))

    assert "`broken.yml`" in caught.value.what
    assert expected in caught.value.what
    assert ExitCode.CONFIGURATION == caught.value.code


def test_a_sound_file_of_states(tmp_path: Path) -> None:
    """The file that the broken ones are made from is sound itself."""
    read = states.read(_file(tmp_path, _SOUND))

    assert ("good", False, True, "") == (
        read["queued_resources"]["ACTIVE"].mark,
        read["queued_resources"]["ACTIVE"].billed,
        read["queued_resources"]["ACTIVE"].held,
        read["queued_resources"]["ACTIVE"].usually,
    )
