"""The project and zone in use: from the command line, or else from gcloud's configuration."""

from __future__ import annotations

import configparser
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tpustarter.cloud.create.tpu_request import validate_zone
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.machine import Machine

_PROJECT = re.compile(r"([a-z0-9.-]{1,80}:)?[a-z][-a-z0-9]{4,28}[a-z0-9]")


@dataclass(frozen=True)
class Project:
    """A Google Cloud project, identified by its id."""

    name: str
    source: str
    """Origin of the id: `--project`, an environment variable or gcloud's configuration."""
    gcloud_knows: bool = False
    """True if gcloud uses the same project by default."""


PLACEHOLDER = Project("PROJECT", "nowhere: replace PROJECT by your own")
"""Project shown in a dry run if none is known."""


def require_project(typed: str | None) -> Project:
    """Return the project in use; raises Problem if none is known or its id is invalid."""
    found = find_project(typed)
    if found is None:
        raise Problem(
            "a TPU in Google Cloud belongs to a project, and no project is known: neither "
            "`--project` nor gcloud's configuration names one",
            hint="if you have a project, run `gcloud config set project PROJECT_ID`, or name it "
            "with `--project`; `tpustarter learn start/ways-to-get-one` has ways without a project",
            read="setup/project-and-access",
            code=ExitCode.USAGE,
        )
    if not _PROJECT.fullmatch(found.name):
        raise Problem(
            f"`{found.name}` ({found.source}) is not the id of a project, expected 6 to 30 "
            "lowercase letters, digits and `-`",
            hint="`gcloud projects list` shows the ids in its first column",
            code=ExitCode.USAGE,
        )
    return found


def find_project(typed: str | None) -> Project | None:
    """Return the project in use, or None if none is known."""
    gcloud = os.environ.get("CLOUDSDK_CORE_PROJECT") or _configured("core", "project")
    if typed:
        return Project(typed, "--project", gcloud_knows=typed == gcloud)
    if name := os.environ.get("CLOUDSDK_CORE_PROJECT"):
        return Project(name, "CLOUDSDK_CORE_PROJECT", gcloud_knows=True)
    if name := os.environ.get("GOOGLE_CLOUD_PROJECT"):
        return Project(name, "GOOGLE_CLOUD_PROJECT", gcloud_knows=name == gcloud)
    return Project(gcloud, "gcloud's configuration", gcloud_knows=True) if gcloud else None


def find_zone(typed: str | None) -> str | None:
    """Return the zone in use, or None if none is known; raises Problem for an invalid name."""
    name = typed or os.environ.get("CLOUDSDK_COMPUTE_ZONE") or _configured("compute", "zone")
    return validate_zone(name) if name else None


def require_zone(typed: str | None) -> str:
    """Return the zone in use; raises Problem if none is known."""
    if name := find_zone(typed):
        return name
    raise Problem(
        "no zone is known: neither `--zone` nor gcloud's configuration names one",
        hint="add `--zone us-central1-b`; `tpustarter tpu zones` lists the zones that have TPUs",
        code=ExitCode.USAGE,
    )


def _folder() -> Path:
    chosen = os.environ.get("CLOUDSDK_CONFIG")
    return Path(chosen) if chosen else Path.home() / ".config/gcloud"


def _configured(section: str, key: str) -> str | None:
    try:
        active = os.environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or "default"
        marker = _folder() / "active_config"
        if "CLOUDSDK_ACTIVE_CONFIG_NAME" not in os.environ and marker.is_file():
            active = locations.read_text(marker).strip() or "default"
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(locations.read_text(_folder() / f"configurations/config_{active}"))
        return parser.get(section, key, fallback="").strip() or None
    except (OSError, ValueError, configparser.Error, RuntimeError):
        return None


def credentials_file() -> Path | None:
    """Return the file with the user's own credentials, or None if there is none.

    A file named by GOOGLE_APPLICATION_CREDENTIALS is returned even if it cannot be read.
    """
    if named := os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return Path(named)
    file = _folder() / "application_default_credentials.json"
    try:
        return file if file.is_file() else None
    except OSError:  # for example in another user's folder
        return file


def is_google_machine() -> bool:
    """Return whether this machine is a Google Cloud VM, where a metadata server responds."""
    from tpustarter.machine import host

    return host.metadata(Machine()).state == "ok"
