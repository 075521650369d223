"""The doctor's subject: a project, a zone and a type, and the names hidden by default.

Project ids and numbers, e-mail addresses of people and service accounts, and billing accounts stay
out of every text unless the user asks for them. Commands refer to the project by a shell
expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create.tpu_request import find_region
from tpustarter.machine.tpus import TpuType

_PATTERNS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", "[email]"),
        (r"\b(?:billingAccounts/)?[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}\b", "[billing account]"),
        (r"(projects?[/= #]+)[a-z0-9:.-]{4,100}[a-z0-9]", r"\1[project]"),
        (r"(?<![\w.-])\d{9,14}(?![\w-])", "[number]"),
    )
)
"""Identifying names in Google's own text; a project number has about twelve digits."""


@dataclass(frozen=True)
class DoctorTarget:
    """The project, zone and type for which the doctor looks for obstacles."""

    project: Project
    zone: str | None = None
    type: TpuType | None = None
    show_names: bool = False
    """True if ids, numbers and addresses may be shown."""

    @property
    def id(self) -> str:
        """Return the project's id for use in requests."""
        return self.project.name

    @property
    def region(self) -> str | None:
        """Return the zone's region."""
        return find_region(self.zone) if self.zone else None

    @property
    def project_text(self) -> str:
        """Return the text that represents the project in a command."""
        if self.show_names:
            return self.project.name
        if self.project.gcloud_knows:
            return '"$(gcloud config get project)"'
        if self.project.source == "GOOGLE_CLOUD_PROJECT":
            return '"$GOOGLE_CLOUD_PROJECT"'
        return "PROJECT"

    def gcloud(self, *words: str) -> str:
        """Return a gcloud command, with `--project` unless gcloud is set to this project."""
        knows = self.project.gcloud_knows and not self.show_names
        return " ".join(("gcloud", *words, *(() if knows else (f"--project={self.project_text}",))))

    def quota_command(self, service: str) -> str:
        """Return the command that lists the quota of a Google service."""
        words = f"gcloud alpha services quota list --service={service}"
        return f"{words} --consumer=projects/{self.project_text}"

    def hide(self, text: str) -> str:
        """Redact identifying names in Google's text, unless the user wants to see them."""
        if self.show_names:
            return text
        text = re.sub(rf"(?<![\w-]){re.escape(self.id)}(?![\w-])", "[project]", text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text
