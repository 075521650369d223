"""Checks of the project itself: its existence, its billing, its APIs and the user's roles."""

from __future__ import annotations

import re

import msgspec

from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectAnswer, ProjectQuestion
from tpustarter.text import phrases

NEEDED = (rest_client.TPU, rest_client.COMPUTE)
"""APIs required to create a TPU; its machines and network belong to Compute Engine."""
LOOKING = (rest_client.RESOURCES, rest_client.SERVICES, rest_client.BILLING)
"""APIs that only the doctor calls."""

_CREATE = {
    "tpu.nodes.create": "roles/tpu.admin",
    "tpu.nodes.delete": "roles/tpu.admin",
    "tpu.nodes.get": "roles/tpu.admin",
    "tpu.nodes.list": "roles/tpu.admin",
    "tpu.acceleratortypes.list": "roles/tpu.admin",
    "tpu.runtimeversions.list": "roles/tpu.admin",
    "tpu.locations.list": "roles/tpu.admin",
}
"""Permissions required to create a TPU, with the role that grants each.

Queued resources have no permissions of their own.
Source: https://docs.cloud.google.com/iam/docs/roles-permissions/tpu (read 2026-11).
"""
_CONNECT = {
    "iam.serviceAccounts.actAs": "roles/iam.serviceAccountUser",
    "compute.projects.get": "roles/compute.viewer",
}
"""Permissions to use the machine's service account, and for `gcloud ... ssh`.

Both may also be granted on a single account or machine, so their absence from the project proves
nothing.
Source: https://docs.cloud.google.com/compute/docs/access/iam (read 2026-11).
"""


class CloudProject(msgspec.Struct):
    """A project, as returned by projects.get."""

    name: str = ""
    """`projects/NUMBER`."""
    state: str = ""

    @property
    def number(self) -> str:
        """Return the project's number, or "" if Google gave none."""
        return self.name.rpartition("/")[2]


class BillingInfo(msgspec.Struct, rename="camel"):
    """A project's billing, as returned by projects.getBillingInfo."""

    name: str = ""
    project_id: str = ""
    billing_account_name: str = ""
    billing_enabled: bool = False


class EnabledService(msgspec.Struct):
    """The state of a project's API, as returned by services.batchGet."""

    name: str = ""
    state: str = ""


class EnabledServices(msgspec.Struct):
    """The response to services.batchGet."""

    services: list[EnabledService] = []


class HeldPermissions(msgspec.Struct):
    """The response to projects.testIamPermissions."""

    permissions: list[str] = []


class RoleBinding(msgspec.Struct):
    """The members that hold one role."""

    members: list[str] = []


class IamPolicy(msgspec.Struct):
    """The response to projects.getIamPolicy."""

    bindings: list[RoleBinding] = []


def examine_project(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the project exists and is active."""
    try:
        answer = google.get(rest_client.RESOURCES, f"v3/projects/{subject.id}", CloudProject)
    except UnansweredError as error:
        if error.reason in ("denied", "missing"):
            found = (
                "Google shows no such project to this account: the id is wrong (a name or a "
                "number in its place), or the account has no role in it"
            )
            return ProjectAnswer("fail", found, "gcloud projects list", error.reason)
        raise
    name = f"`{subject.id}`" if subject.show_names else f"from {subject.project.source}"
    if answer.state == "ACTIVE":
        more = f", number {answer.number}" if subject.show_names else ""
        return ProjectAnswer("ok", f"the project {name} is active{more}")
    if answer.state == "DELETE_REQUESTED":
        fix = f"gcloud projects undelete {subject.project_text}"
        return ProjectAnswer("fail", f"the project {name} is marked for deletion", fix)
    raise UnansweredError("garbled", "a project without a state", service=rest_client.RESOURCES)


def examine_billing(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that an open billing account is linked to the project."""
    answer = google.get(rest_client.BILLING, f"v1/projects/{subject.id}/billingInfo", BillingInfo)
    if not (answer.name or answer.project_id):
        raise UnansweredError("garbled", "no project in it", service=rest_client.BILLING)
    account = answer.billing_account_name
    if answer.billing_enabled:
        named = f" ({account})" if subject.show_names and account else ""
        return ProjectAnswer("ok", f"an open billing account is linked{named}")
    if account:
        found = "the billing account that is linked is closed, so nothing can be created"
        return ProjectAnswer("fail", found, "https://console.cloud.google.com/billing")
    fix = f"gcloud billing projects link {subject.project_text} --billing-account=ACCOUNT_ID"
    found = (
        "no billing account is linked, so nothing can be created; a TRC grant needs one too, "
        "and `gcloud billing accounts list` shows yours"
    )
    return ProjectAnswer("fail", found, fix)


def examine_apis(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the APIs for creating a TPU and for this diagnosis are enabled."""
    names = [f"projects/{subject.id}/services/{name}" for name in (*NEEDED, *LOOKING)]
    path = f"v1/projects/{subject.id}/services:batchGet"
    answer = google.get(rest_client.SERVICES, path, EnabledServices, names=names)
    states = {row.name.rpartition("/")[2]: row.state for row in answer.services}
    if missing := [name for name in NEEDED if states.get(name) not in ("ENABLED", "DISABLED")]:
        text = f"no state of {phrases.join_words(missing)}"
        raise UnansweredError("garbled", text, service=rest_client.SERVICES)
    off = [name for name in NEEDED if states[name] == "DISABLED"]
    if off:
        found = (
            f"not enabled: {phrases.join_words([rest_client.TITLES[name] for name in off], most=3)}"
        )
        return ProjectAnswer("fail", found, subject.gcloud("services", "enable", *off))
    off = [name for name in LOOKING if states.get(name) != "ENABLED"]
    if off:
        titles = phrases.join_words([rest_client.TITLES[name] for name in off], most=3)
        are = phrases.choose_plural(len(off), "is", "are")
        found = f"what a TPU needs is enabled; {titles} {are} not, which only this examination asks"
        return ProjectAnswer("info", found, subject.gcloud("services", "enable", *off))
    return ProjectAnswer("ok", "the Cloud TPU and Compute Engine APIs are enabled")


def examine_roles(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the account holds the permissions on the project to create and connect."""
    asked = [*_CREATE, *_CONNECT]
    path = f"v3/projects/{subject.id}:testIamPermissions"
    held = google.post(
        rest_client.RESOURCES, path, HeldPermissions, {"permissions": asked}
    ).permissions
    lacking = [name for name in asked if name not in held]
    if not lacking:
        return ProjectAnswer(
            "ok", f"the account holds all {len(asked)} permissions to create and connect"
        )
    role = (_CREATE | _CONNECT)[lacking[0]]
    fix = (
        f"gcloud projects add-iam-policy-binding {subject.project_text} "
        f"--member=user:EMAIL --role={role}"
    )
    what = f"the account lacks {phrases.join_words(lacking, most=3)}"
    if any(name in _CREATE for name in lacking):
        found = f"{what}; somebody who owns the project grants them"
        return ProjectAnswer("fail", found, fix)
    found = (
        f"{what} on the project, which connecting or the "
        "machine's service account may need, unless it is granted there"
    )
    return ProjectAnswer("warn", found, fix)


def examine_service_agent(subject: DoctorTarget, google: RestClient) -> ProjectAnswer:
    """Check that the service agent with which Cloud TPU creates machines has its role."""
    number = google.get(rest_client.RESOURCES, f"v3/projects/{subject.id}", CloudProject).number
    if not number.isdigit():
        raise UnansweredError(
            "garbled", "a project without a number", service=rest_client.RESOURCES
        )
    policy = google.post(
        rest_client.RESOURCES, f"v3/projects/{subject.id}:getIamPolicy", IamPolicy, {}
    )
    agent = re.compile(rf"serviceAccount:service-{number}@(cloud-tpu|gcp-sa-tpu)\.iam\.\S+")
    if any(agent.fullmatch(name) for row in policy.bindings for name in row.members):
        return ProjectAnswer("ok", "the service agent of Cloud TPU has a role in the project")
    found = (
        "the service agent of Cloud TPU has no role here yet; Google makes it with the first "
        "TPU VM, and a command does so earlier, to let it read a bucket"
    )
    fix = subject.gcloud("beta", "services", "identity", "create", f"--service={rest_client.TPU}")
    return ProjectAnswer("info", found, fix)


QUESTIONS = (
    ProjectQuestion(
        "project",
        "the project exists and is active",
        "https://docs.cloud.google.com/resource-manager/reference/rest/v3/projects/get",
        examine_project,
        lambda subject: f"gcloud projects describe {subject.project_text}",
    ),
    ProjectQuestion(
        "billing",
        "an open billing account is linked",
        "https://docs.cloud.google.com/billing/docs/reference/rest/v1/projects/getBillingInfo",
        examine_billing,
        lambda subject: f"gcloud billing projects describe {subject.project_text}",
    ),
    ProjectQuestion(
        "apis",
        "the APIs are enabled",
        "https://docs.cloud.google.com/service-usage/docs/reference/rest/v1/services/batchGet",
        examine_apis,
        lambda subject: subject.gcloud("services", "list", "--enabled"),
    ),
    ProjectQuestion(
        "roles",
        "the account may create and connect",
        "https://docs.cloud.google.com/resource-manager/reference/rest/v3/projects/testIamPermissions",
        examine_roles,
        lambda subject: f"gcloud projects get-iam-policy {subject.project_text}",
    ),
    ProjectQuestion(
        "service-agent",
        "Cloud TPU's own account has its role",
        "https://docs.cloud.google.com/sdk/gcloud/reference/beta/services/identity/create",
        examine_service_agent,
        lambda subject: f"gcloud projects get-iam-policy {subject.project_text}",
        can_block=False,
    ),
)
