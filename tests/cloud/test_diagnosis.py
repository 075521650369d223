"""Findings of the doctor: one thing breaks, and its finding has the fix."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.auth import credentials as google_credentials
from google.auth import exceptions

from tests.support.fake_google import (
    EMAIL,
    HANG,
    NUMBER,
    PROJECT,
    SECRETS,
    ZONE,
    FakeGoogle,
    disabled,
    refusal,
    serving,
)
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api import project_and_zone, rest_client
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.doctor import diagnosis
from tpustarter.cloud.doctor.diagnosis import DoctorReport
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectFinding
from tpustarter.core.problem import ExitCode, Problem

OWN = project_and_zone.Project(PROJECT, "gcloud's configuration", gcloud_knows=True)


def subject(
    zone: str | None = ZONE,
    tpu: str | None = "v6e-8",
    project: project_and_zone.Project = OWN,
    **more: Any,
) -> DoctorTarget:
    """Return the subject of an examination."""
    return DoctorTarget(project, zone, tpu_request.parse_type(tpu) if tpu else None, **more)


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DoctorReport]:
    """Return a function that examines a project of a fake Google."""

    def run(google: FakeGoogle, who: DoctorTarget | None = None, **more: Any) -> DoctorReport:
        with serving(google) as address:
            monkeypatch.setenv(rest_client.ENDPOINT, address)
            return diagnosis.diagnose_project(who or subject(), **more)

    return run


def finding(report: DoctorReport, name: str) -> ProjectFinding:
    """Return the finding of a name."""
    return next(one for one in report.findings if one.id == name)


def test_healthy_project_is_one_sentence(examine: Callable[..., DoctorReport]) -> None:
    """Nothing is wrong, one sentence says so, and also what was not asked."""
    report = examine(FakeGoogle())

    assert ExitCode.OK == report.exit_code
    assert {"ok": 12, "info": 2} == {k: n for k, n in report.count_verdicts().items() if n}
    assert "Nothing stands in the way of a TPU" in diagnosis.format_headline(report)
    assert "free right now was not asked" in diagnosis.format_headline(report)


CASES: list[tuple[str, str, Any, str, str, str]] = [
    (
        "project",
        f"/{PROJECT}",
        refusal(403, f"denied on projects/{PROJECT}"),
        "fail",
        "no such project",
        "gcloud projects list",
    ),
    (
        "project",
        f"v3/projects/{PROJECT}",
        {"name": f"projects/{NUMBER}", "state": "DELETE_REQUESTED"},
        "fail",
        "marked for deletion",
        "gcloud projects undelete",
    ),
    (
        "billing",
        "billingInfo",
        {"name": "x", "projectId": PROJECT},
        "fail",
        "no billing account is linked",
        "gcloud billing projects link",
    ),
    (
        "billing",
        "billingInfo",
        {"name": "x", "billingAccountName": "billingAccounts/1"},
        "fail",
        "closed",
        "https://console.cloud.google.com/billing",
    ),
    (
        "apis",
        "batchGet",
        {
            "services": [
                {"name": f"projects/1/services/{rest_client.TPU}", "state": "DISABLED"},
                {"name": f"projects/1/services/{rest_client.COMPUTE}", "state": "ENABLED"},
            ]
        },
        "fail",
        "not enabled: the Cloud TPU API",
        "gcloud services enable tpu.googleapis.com",
    ),
    (
        "apis",
        "batchGet",
        {
            "services": [
                {"name": f"projects/1/services/{name}", "state": "ENABLED"}
                for name in rest_client.TITLES
                if name != rest_client.BILLING
            ]
        },
        "info",
        "the Cloud Billing API is not",
        "gcloud services enable cloudbilling.googleapis.com",
    ),
    (
        "apis",
        "batchGet",
        disabled(rest_client.SERVICES),
        "unknown",
        "the Service Usage API is not enabled",
        "gcloud services enable serviceusage.googleapis.com",
    ),
    ("roles", "testIam", {}, "fail", "lacks tpu.nodes.create", "--role=roles/tpu.admin"),
    (
        "roles",
        "testIam",
        lambda asked: {
            "permissions": [name for name in asked["permissions"] if name.startswith("tpu.")]
        },
        "warn",
        "iam.serviceAccounts.actAs",
        "--role=roles/iam.serviceAccountUser",
    ),
    (
        "service-agent",
        "getIamPolicy",
        {"bindings": []},
        "info",
        "no role here yet",
        "gcloud beta services identity create --service=tpu.googleapis.com",
    ),
    (
        "service-agent",
        "getIamPolicy",
        {"bindings": [{"members": [f"serviceAccount:{EMAIL.replace(NUMBER, '999999999999')}"]}]},
        "info",
        "no role",
        "identity",
    ),
    (
        "zone",
        "/locations",
        {"locations": [{"locationId": "us-east1-c"}]},
        "fail",
        "us-east1-c does",
        "tpustarter tpu doctor --zone us-east1-c --type v6e-8",
    ),
    (
        "type",
        f"{ZONE}/acceleratorTypes",
        {"acceleratorTypes": [{"type": "v6e-1"}]},
        "fail",
        f"{ZONE} does not offer v6e-8; us-east5-a does",
        "--zone us-east5-a --type v6e-8",
    ),
    ("type", "acceleratorTypes", {}, "fail", "no zone offers v6e-8", "tpustarter tpu types"),
    (
        "machines",
        "regions/us-east1",
        {
            "quotas": [
                {"metric": "IN_USE_ADDRESSES", "limit": 4.0, "usage": 4.0},
                {"metric": "INSTANCES", "limit": 24.0},
            ]
        },
        "warn",
        "--internal-ips",
        "https://console",
    ),
]


@pytest.mark.parametrize(("name", "part", "answer", "verdict", "found", "fix"), CASES)
def test_each_fault_is_found_with_its_fix(  # noqa: PLR0917  a row of the table
    examine: Callable[..., DoctorReport],
    name: str,
    part: str,
    answer: Any,
    verdict: str,
    found: str,
    fix: str,
) -> None:
    """The finding has the verdict, the words and the command, and nothing that identifies."""
    report = examine(FakeGoogle().breaks(part, answer))
    seen = finding(report, name)

    assert verdict == seen.verdict
    assert found in seen.found
    assert fix in (seen.fix or "")
    if verdict == "fail":
        assert ExitCode.FAILED == report.exit_code
        assert "in the way of a TPU" in diagnosis.format_headline(report)
    assert not [secret for secret in SECRETS if secret in json.dumps(report.fields())]


def test_hidden_project_is_one_failure(examine: Callable[..., DoctorReport]) -> None:
    """A hidden project is one failure with one cause."""
    google = FakeGoogle()
    google.answers = dict.fromkeys(google.answers, refusal(403, "The caller has no permission"))
    report = examine(google)

    assert ["project"] == [one.id for one in report.findings if one.verdict == "fail"]
    assert "as the project itself is not shown" in finding(report, "quota").found


def test_names_are_shown_on_request(examine: Callable[..., DoctorReport]) -> None:
    """With `--show-names` the report has the project, its number and the billing account."""
    report = examine(FakeGoogle(), subject(show_names=True))
    text = json.dumps(report.fields())

    assert [] == [name for name in (PROJECT, NUMBER, "0A1B2C-3D4E5F-678901") if name not in text]


def test_google_texts_hide_identifying_names(examine: Callable[..., DoctorReport]) -> None:
    """A refusal that names all there is to name is shown without the names."""
    text = (
        f"alice@example.com may not see {PROJECT} (projects/{NUMBER}, project #{NUMBER}), "
        f"billingAccounts/0A1B2C-3D4E5F-678901, {EMAIL}"
    )
    google = FakeGoogle()
    google.answers = dict.fromkeys(google.answers, refusal(400, text))
    fields = json.dumps(examine(google).fields())

    assert "may not see" in fields
    assert [] == [secret for secret in SECRETS if secret in fields]


@pytest.mark.parametrize(
    ("project", "shown"),
    [
        (OWN, '"$(gcloud config get project)"'),
        (project_and_zone.Project(PROJECT, "GOOGLE_CLOUD_PROJECT"), '"$GOOGLE_CLOUD_PROJECT"'),
        (project_and_zone.Project(PROJECT, "--project"), "PROJECT"),
    ],
)
def test_command_names_project_by_shell_expansion(
    project: project_and_zone.Project, shown: str
) -> None:
    """A command names the project by shell expansion, so it can be pasted and shared."""
    assert shown == subject(project=project).project_text
    assert PROJECT not in " ".join(diagnosis.list_commands(subject(project=project)).values())


def test_missing_zone_and_type_fail_nothing(examine: Callable[..., DoctorReport]) -> None:
    """A missing zone or type is no failure."""
    report = examine(FakeGoogle(), subject(zone=None, tpu=None))

    assert ExitCode.OK == report.exit_code
    assert "No zone is named, so its quota was not looked at." in diagnosis.format_headline(report)
    assert "3 zones have TPUs" in finding(report, "zone").found
    assert "--zone ZONE" in (finding(report, "quota").fix or "")


def test_type_without_zone_is_searched_everywhere(examine: Callable[..., DoctorReport]) -> None:
    """A type without a zone is searched in all zones, and those that offer it are listed."""
    seen = finding(examine(FakeGoogle(), subject(zone=None)), "type")

    assert "v6e-8 is offered in us-east1-d and us-east5-a" == seen.found


def test_generation_missing_from_api_points_to_compute_engine(
    examine: Callable[..., DoctorReport],
) -> None:
    """TPU7x is no misspelt type."""
    report = examine(FakeGoogle(), subject(tpu="tpu7x-8"))

    assert "Compute Engine makes it" in finding(report, "type").found
    assert "info" == finding(report, "quota").verdict
    assert "unknown" == finding(report, "compute-quota").verdict


class _Credentials(google_credentials.Credentials):
    """Credentials of a user whose token is refused, or given."""

    def __init__(self, refused: Exception | None = None, quota_project: str | None = None) -> None:
        super().__init__()
        self._refused = refused
        self._quota_project_id = quota_project

    def refresh(self, request: Any) -> None:  # noqa: ARG002  the library's signature
        """Accept the token, or raise Google's refusal."""
        if self._refused:
            raise self._refused
        self.token = "a-token"


CLOCK = (
    "invalid_grant: Invalid JWT: Token must be a short-lived token (60 minutes) and in a "
    "reasonable timeframe. Check your iat and exp values in the JWT claim."
)


@pytest.mark.parametrize(
    ("error", "found", "fix"),
    [
        (exceptions.RefreshError(CLOCK, {}), "the clock of this machine is wrong", "timedatectl"),
        (
            exceptions.RefreshError("invalid_grant: Token has been expired or revoked."),
            "expired or revoked",
            "gcloud auth application-default login",
        ),
        (exceptions.ReauthFailError("needed"), "Reauthentication failed", "gcloud auth"),
    ],
)
def test_credentials_that_google_refuses_end_the_examination(
    error: Exception, found: str, fix: str
) -> None:
    """Credentials that Google refuses end the examination, and each finding says so."""
    report = diagnosis.diagnose_project(subject(), find=lambda: _Credentials(error))
    first, *others = report.findings

    assert ExitCode.DENIED == report.exit_code
    assert ("credentials", "fail") == (first.id, first.verdict)
    assert found in first.found
    assert fix in (first.fix or "")
    assert {"not tried, as no credentials work"} == {one.found for one in others}
    assert all("gcloud" in (one.fix or "") for one in others)
    assert "14 of" not in diagnosis.format_headline(report)


def test_missing_credentials_exit_77() -> None:
    """Missing credentials exit with 77 and the command that creates some."""

    def find() -> Any:
        raise api_errors.make_cloud_problem(
            None, "Your default credentials were not found.", "no credentials"
        )

    report = diagnosis.diagnose_project(subject(), find=find)

    assert ExitCode.DENIED == report.exit_code
    assert "gcloud auth application-default login" == report.findings[0].fix


def test_missing_network_is_not_missing_login() -> None:
    """A missing network is not reported as a missing login."""
    error = exceptions.TransportError("HTTPSConnectionPool: NameResolutionError")
    report = diagnosis.diagnose_project(subject(), find=lambda: _Credentials(error))

    assert ExitCode.INCONCLUSIVE == report.exit_code
    assert "is not resolved" in report.findings[0].found
    assert {"not tried, as no credentials could be tried"} == {
        one.found for one in report.findings[1:]
    }


def test_credentials_that_are_never_found_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that are never found are given up, so the doctor doesn't hang."""
    import threading

    monkeypatch.setattr("tpustarter.cloud.doctor.credential_check.FIND_S", 0.05)
    never = threading.Event()
    report = diagnosis.diagnose_project(subject(), find=never.wait)
    never.set()

    assert "no answer in time" in report.findings[0].found


def test_foreign_quota_project_is_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another project as the quota project is a warning."""
    monkeypatch.setattr("tpustarter.cloud.doctor.diagnosis.QUESTIONS", ())
    monkeypatch.setattr("tpustarter.cloud.doctor.diagnosis._conclude", lambda first, _: [first])
    report = diagnosis.diagnose_project(
        subject(), find=lambda: _Credentials(quota_project="other-project")
    )
    first = report.findings[0]

    assert "warn" == first.verdict
    assert "other-project" not in first.found
    assert "set-quota-project" in (first.fix or "")


def test_token_refused_everywhere_is_one_credentials_failure(
    examine: Callable[..., DoctorReport],
) -> None:
    """401 everywhere is one cause with one fix."""
    google = FakeGoogle()
    google.answers = dict.fromkeys(google.answers, refusal(401, "Invalid credentials"))
    report = examine(google)

    assert ExitCode.DENIED == report.exit_code
    assert "credentials" == report.findings[0].id
    assert "gcloud auth application-default login" == report.findings[0].fix


def test_missing_scope_keeps_findings_of_other_services(
    examine: Callable[..., DoctorReport],
) -> None:
    """A missing scope is a problem of the login, and other services' findings are kept."""
    google = FakeGoogle().breaks("compute/v1", refusal(403, "x", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"))
    report = examine(google)

    assert ExitCode.DENIED == report.exit_code
    assert "ok" == finding(report, "roles").verdict
    assert "1 of 14 findings stands in the way of a TPU" in diagnosis.format_headline(report)


def test_incomplete_loopback_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two loopback settings is refused, because real credentials would be used."""
    monkeypatch.setenv("TPUSTARTER_TPU_ENDPOINT", "127.0.0.1:1")

    with pytest.raises(Problem, match="asks Google's REST"):
        diagnosis.diagnose_project(subject())


def test_bug_in_examination_is_shown_as_bug(
    examine: Callable[..., DoctorReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in an examination is shown as a bug, not as unknown."""
    from dataclasses import replace

    def break_(*_: Any) -> Any:
        raise ZeroDivisionError

    questions = tuple(replace(question, examine=break_) for question in diagnosis.QUESTIONS)
    monkeypatch.setattr("tpustarter.cloud.doctor.diagnosis.QUESTIONS", questions)

    with pytest.raises(ZeroDivisionError):
        examine(FakeGoogle())


def test_unresponsive_service_keeps_other_findings(examine: Callable[..., DoctorReport]) -> None:
    """A service that doesn't respond leaves the other findings, within the time limit."""
    report = examine(FakeGoogle().breaks("compute/v1", HANG), call_s=0.2, total_s=1.0)
    silent = {one.id for one in report.findings if one.reason == "silent"}

    assert {"machines", "network", "firewall", "ssh"} == silent
    assert "ok" == finding(report, "roles").verdict
    assert ExitCode.INCONCLUSIVE == report.exit_code
    assert "so this is no proof" in diagnosis.format_headline(report)
