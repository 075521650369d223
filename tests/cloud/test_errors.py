"""Google's errors in words: every one of the 44 real texts, and texts that nobody has met."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cloud.real_errors import MET, PROJECT, ZONE, meet, raised_by, short_folder, wanted
from tests.support.fake_cloud import Fault, channel, serving
from tests.support.processes import in_bounded_time
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.errors import CloudFailure
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.core import content, yaml_rows
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.explain import known_failures

ROWS = {row.id: row for row in api_errors.read_known_cloud_failures()}

KINDS = {
    "capacity": "no-capacity insufficient-reserved",
    "internal": "internal-error-size",
    "rate": "quota-create-rate",
    "quota": "quota-exceeded quota-region-zero queued-resource-holds-quota in-use-addresses "
    "instances-limit",
    "config": "accelerator-not-in-zone accelerator-config-not-found topology-not-offered "
    "zone-not-supported "
    "flex-start-not-supported standard-with-spot reservation-not-found reservation-must-be-named",
    "denied": "location-denied queue-denied type-denied iam-denied project-denied "
    "external-ip-policy",
    "auth": "scopes no-adc reauth",
    "setup": "api-or-zone-access billing-not-found billing-disabled free-trial-billing "
    "no-default-network",
    "name": "name-taken",
    "missing": "tpu-name-not-found",
    "state": "update-while-preempted delete-while-provisioning delete-while-active "
    "terminal-state stopped-state maintenance",
    "network": "iap-unable ssh-timeout iap-4003 dns deadline",
    "ssh": "ssh-agent guest-attributes",
}
"""What decides whether a call is tried again, by the reports in the sources of each row."""

VARIANTS: dict[str, list[str]] = content.read_yaml(
    (Path(__file__).parent / "variants.yml").read_text(encoding="utf-8")
)
"""The same errors with other names, zones and limits, as gcloud, JSON and HTTP show them."""


@pytest.mark.parametrize("name", sorted(MET))
def test_every_recorded_text_matches_its_row(name: str) -> None:
    """Each of them arrives through the real client and is told by its own row, with a hint."""
    row = ROWS[name]

    with short_folder() as folder:
        problem = meet(row, folder)

    assert row is problem.failure
    assert row.kind == problem.kind
    assert api_errors.EXIT_CODES.get(row.kind, ExitCode.FAILED) == problem.code
    assert problem.hint
    assert not re.search(r"\b(TYPE|ZONE|SERVICE|STATE|NAME|PROJECT)\b", problem.summary)
    assert row.example.split("[")[0].split(" to add it")[0].strip() in problem.detail


def test_every_row_has_recorded_text_and_its_kind() -> None:
    """A new row needs a place where it is met, and a kind that decides on trying again."""
    kinds = {name: kind for kind, names in KINDS.items() for name in names.split()}

    assert 46 == len(ROWS)
    assert set(ROWS) == set(MET)
    assert kinds == {name: row.kind for name, row in ROWS.items()}
    assert {name: met.code for name, met in MET.items() if ROWS[name].grpc_code} == {
        name: row.grpc_code for name, row in ROWS.items() if row.grpc_code
    }


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_variants_of_text_match_same_row(name: str) -> None:
    """Other names, limits, quotes and line breaks change nothing, with and without a code."""
    for text in VARIANTS[name]:
        with_code = api_errors.make_cloud_problem(
            MET[name].code, text, "Google Cloud did not create `bert`"
        )
        as_text = api_errors.match_failure(text, None)

        assert (name, name) == (with_code.failure and with_code.failure.id, as_text and as_text.id)
        assert not re.search(r"\b(TYPE|ZONE|SERVICE|STATE|NAME|PROJECT)\b", with_code.full_text)


def test_unmatched_text_keeps_words_and_kind_of_code() -> None:
    """An unknown error keeps Google's text, and its code decides its kind."""
    kinds = {
        2: "unknown",
        3: "config",
        5: "missing",
        6: "name",
        7: "denied",
        8: "quota",
        9: "state",
        13: "internal",
        14: "network",
        16: "auth",
    }

    with serving() as cloud:
        client = TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock)
        for code, kind in kinds.items():
            cloud.faults["CreateQueuedResource"] = [Fault(code, "the moon is in the wrong house")]
            problem = raised_by(lambda: client.create(wanted()))

            assert (None, kind) == (problem.failure, problem.kind)
            assert "Google Cloud did not create `bert`" == problem.summary
            assert "Google's text: the moon is in the wrong house" == problem.detail


def test_code_decides_between_two_matching_rows() -> None:
    """A text may quote another one; the row of its own code is the right one."""
    text = "There is no more capacity in the zone. Resource 'p/nodes/bert' already exists"

    assert "no-capacity" == getattr(api_errors.match_failure(text, 8), "id", None)
    assert "name-taken" == getattr(api_errors.match_failure(text, 6), "id", None)


def test_exit_codes_separate_retry_denied_and_bad_request() -> None:
    """Scripts rely on these: 75 may pass by itself, 77 needs leave, 2 another request."""
    codes = {
        "capacity": 75,
        "internal": 75,
        "rate": 75,
        "network": 75,
        "denied": 77,
        "auth": 77,
        "quota": 77,
        "setup": 77,
        "config": 2,
        "name": 2,
        "missing": 2,
        "state": 1,
        "ssh": 1,
    }

    assert codes == {
        row.kind: api_errors.make_cloud_problem(None, row.example, "x").code
        for row in ROWS.values()
    }


def test_the_verbs_and_options_in_fixes_exist() -> None:
    """A fix with a verb that was renamed is found here."""
    import click

    from tpustarter.cli.tpu import command as tpu_command

    texts = [fix for row in ROWS.values() for fix in row.fix]
    texts += [
        state.do for table in resource_states.read_states().values() for state in table.values()
    ]
    context = click.Context(tpu_command.tpu)
    for text in texts:
        for verb, words in re.findall(r"tpustarter tpu ([\w-]+)((?: (?!-- )[\w-]+)*)", text):
            command = tpu_command.tpu.get_command(context, verb)
            assert command is not None, text
            options = {name for parameter in command.params for name in parameter.opts}
            assert {word for word in words.split() if word.startswith("--")} <= options, text


def test_installed_command_shows_error_without_traceback() -> None:
    """The installed command prints the error and its hint, without a traceback."""
    with serving() as cloud:
        for method in ("ListNodes", "ListQueuedResources"):
            cloud.faults[method] = [Fault(7, ROWS["api-or-zone-access"].example)] * 3
        run = subprocess.run(
            [sys.executable, "-m", "tpustarter", "tpu", "list", "--project", "my-project"],
            env={**os.environ, "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert "" == run.stdout
    assert "hint: `gcloud services enable tpu.googleapis.com" in run.stderr
    assert "Traceback" not in run.stderr
    assert 77 == run.returncode


def test_zone_and_name_from_text_complete_command() -> None:
    """The first fix can be pasted, with the zone, name or project of Google's own text."""
    zone = api_errors.make_cloud_problem(
        3, "the accelerator v4-128 was not found in zone us-west4-a", "x"
    )
    name = api_errors.make_cloud_problem(
        6, "Resource 'projects/p/locations/z/nodes/ann' already exists", "x"
    )
    api = api_errors.make_cloud_problem(7, VARIANTS["api-or-zone-access"][0], "x")

    assert "`tpustarter tpu types --zone us-west4-a`" == zone.hint
    assert ("tpustarter tpu show ann", "tpustarter tpu delete ann") == name.fixes[:2]
    assert "`gcloud services enable serviceusage.googleapis.com --project=42`" == api.hint


@pytest.mark.parametrize("name", ["$(reboot)", "a;reboot", "-rf", "a`b`", "x" * 200, "a\nb"])
def test_unsafe_words_never_enter_command(name: str) -> None:
    """Google's text is foreign: nothing of it that a shell would act on is offered as a command."""
    text = f"Billing account for project '{name}' is not found."

    for fix in api_errors.make_cloud_problem(9, text, "x").fixes:
        assert name not in fix


def test_error_info_reason_matches_changed_words() -> None:
    """ErrorInfo tells the row and fills in the fix, from a call and from an operation."""
    from google.protobuf import any_pb2
    from google.rpc import error_details_pb2

    detail = error_details_pb2.ErrorInfo(
        reason="SERVICE_DISABLED",
        metadata={"service": "tpu.googleapis.com", "consumer": "projects/4711"},
    )
    packed = any_pb2.Any()
    packed.Pack(detail)

    with serving() as cloud:
        client = TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock)
        cloud.faults["ListNodes"] = [Fault(7, "This API is off.", details=(detail,))]
        problem = raised_by(client.nodes)
    as_operation = api_errors.make_cloud_problem(7, "This API is off.", "x", [packed])

    assert "api-or-zone-access" == (problem.failure and problem.failure.id)
    assert "`gcloud services enable tpu.googleapis.com --project=4711`" == problem.hint
    assert problem.hint == as_operation.hint


def test_details_that_cannot_be_read_are_left_out() -> None:
    """Broken and unknown details never hide the error that they came with."""
    from google.protobuf import any_pb2

    broken = any_pb2.Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff\xff")
    foreign = any_pb2.Any(type_url="type.googleapis.com/somebody.Else", value=b"x")
    module = any_pb2.Any(type_url="type.googleapis.com/google.rpc.DESCRIPTOR", value=b"x")

    problem = api_errors.make_cloud_problem(
        13, "no", "it failed", [broken, foreign, module, object(), None]
    )

    assert ("internal", "it failed") == (problem.kind, problem.summary)
    assert "Google's text: no" == problem.detail


def test_google_text_is_one_bounded_printable_line() -> None:
    """A web page of a proxy, or an escape sequence, does not take over the terminal."""
    page = "<!DOCTYPE html>\x1b[2J\r\nhint: run this\n" + "x" * 100_000

    detail = api_errors.make_cloud_problem(14, page, "Google Cloud did not list the nodes").detail

    assert "\n" not in detail
    assert "\x1b" not in detail
    assert len(detail) < 700


def test_long_hostile_text_is_matched_quickly() -> None:
    """No pattern takes long on a text that nearly matches many times."""
    for piece in (
        "Quota 'TPU,",
        "Permission 'tpu.",
        "requests ",
        "Resource 'projects/a/",
        "\\",
        " ",
    ):
        with in_bounded_time():
            api_errors.make_cloud_problem(8, piece * 20_000, "x")


def test_fixes_are_either_commands_or_sentences() -> None:
    """A command in a fix can be copied as a whole."""
    for row in ROWS.values():
        for fix in row.fix:
            if known_failures.is_fix_command(fix):
                assert shlex.split(fix)[0] in ("gcloud", "tpustarter", "ssh-add", "eval"), fix
                assert not re.search(r"[.;,`]( |$)", fix), fix
            else:
                assert fix[0].isupper(), fix
                assert fix.endswith((".", "iam-admin/quotas", "/billing", "flex-start")), fix


def test_every_row_lesson_exists_and_source_is_public() -> None:
    """Nobody is sent to a lesson that is not there."""
    lessons = {lesson.id for lesson in content.read_lessons()}

    assert set() == {row.read for row in ROWS.values() if row.read} - lessons
    for row in ROWS.values():
        assert all(re.fullmatch(r"https://\S+\.\S+/\S*", source) for source in row.sources), row.id


_SOUND = """- id: one
  google: {kind: capacity, grpc_code: null}
  shows: [no room]
  what: there is no room
  why: It is full.
  fix: [Wait.]
  sources: [https://example.com/]
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("  what: there is no room\n", ""), "missing required field `what`"),
        (("shows: [no room]", "shows: [(no room]"), "its pattern '(no room' is wrong"),
        (("kind: capacity", "kind: weather"), "the kind 'weather', not one of"),
        (("kind: capacity", "kind: [1]"), "in `google.kind`"),
        (("kind: capacity, ", ""), "missing required field `kind`"),
        (("fix: [Wait.]", "fix: Wait."), "its `fix` is 'Wait.', expected `array`"),
        (("fix: [Wait.]", "fix: []"), "its `fix` is [], expected `array` of length >= 1"),
        (("fix: [Wait.]", "fix: [1]"), "its `fix` is [1], expected `str`, got `int` in `fix[0]`"),
        (("why: It is full.", "why: 3"), "its `why` is 3, expected `str`"),
        (("shows: [no room]", "shows: ['']"), "its `shows` is [''], expected `str` of length >= 1"),
        (
            ("grpc_code: null", "grpc_code: eight"),
            "expected `int | null`, got `str` in `google.grpc_code`",
        ),
        (("why: It", "read: 3\n  why: It"), "its `read` is 3, expected `str`"),
        ((_SOUND, _SOUND + _SOUND), "has two rows called `one`"),
        ((_SOUND, "rows: 3\n"), "expected a list of rows"),
        ((_SOUND, "- 3\n"), "the row `1` of `broken.yml` is 3, expected keys and values"),
        ((_SOUND, "- id: [\n"), "`broken.yml` cannot be read: "),
        ((_SOUND, "- &a {id: 1}\n- *a\n"), "it has aliases"),
    ],
)
def test_broken_error_file_is_one_error(
    tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    """Each mistake in the file is named with its row."""
    file = tmp_path / "broken.yml"
    file.write_text(_SOUND.replace(*change), encoding="utf-8")

    with pytest.raises(Problem) as caught:
        api_errors.read_known_cloud_failures(file)

    assert "`broken.yml`" in caught.value.full_text or "row `one`" in caught.value.full_text
    assert expected in caught.value.full_text
    assert ExitCode.CONFIGURATION == caught.value.code


def test_sound_row_loads_and_missing_file_fails(tmp_path: Path) -> None:
    """The row that the broken ones are made from is sound itself."""
    file = tmp_path / "sound.yml"
    file.write_text(_SOUND, encoding="utf-8")

    row: CloudFailure = api_errors.read_known_cloud_failures(file)[0]

    assert ("one", None, None) == (row.id, row.read, row.grpc_code)
    with pytest.raises(Problem, match="cannot be read"):
        yaml_rows.load_yaml(tmp_path / "none.yml")


def test_only_transient_errors_are_retried() -> None:
    """Only what may pass by itself is tried again."""
    with serving() as cloud:
        client = TpuClient(PROJECT.name, channel=channel(cloud), clock=cloud.clock)
        cloud.faults["ListNodes"] = [Fault(14, ROWS["dns"].example)]
        raised_by(client.nodes)
        expired = "Getting metadata from plugin failed with error: " + ROWS["reauth"].example
        cloud.faults["ListNodes"] = [Fault(14, expired)]
        raised_by(client.nodes)

        assert [] == cloud.clock.slept
        cloud.faults["GetNode"] = [Fault(14, "connection reset by peer")] * 2
        assert client.node(ZONE, "none") is None
        assert 2 == len(cloud.clock.slept)
