"""Flex-start with the Cloud TPU API: a gcloud command, because Google's Python client lacks it.

Compute Engine's flex-start is requested and followed like any other TPU; this module is for
generations and zones that only the Cloud TPU API has.
Source: https://docs.cloud.google.com/tpu/docs/request-using-flex-start (read 2026-11).
"""

from __future__ import annotations

from tpustarter.cloud.api import api_choice, gcloud_commands
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases

DOCS = "https://docs.cloud.google.com/tpu/docs/request-using-flex-start"
LONGEST_S = 7 * 86400
SHORTEST_S = 600

NOT_IN_LEDGER = (
    "tpustarter does not run this command, so it does not remember what it makes: it is billed "
    "until you delete it. It is a request of the Cloud TPU API, which `tpustarter tpu list` asks."
)
_VALID_UNTIL = "--valid-until-duration"


def validate_run_time(run_s: int) -> int:
    """Return the run time unchanged; raises Problem if no API allows it."""
    if SHORTEST_S <= run_s <= LONGEST_S:
        return run_s
    raise Problem(
        f"found {run_s} s as the time to run, expected 10 minutes to 7 days for flex-start",
        hint="give a time such as `--flex-start 4h`",
        code=ExitCode.USAGE,
    )


def build_command(request: TpuRequest, project: Project) -> tuple[str, ...]:
    """Return the gcloud command that requests flex-start.

    Args:
        request: The TPU, with the seconds after which Google deletes it.
        project: The project to create it in.

    Raises:
        Problem: Google's page on flex-start does not list the zone for this generation.
    """
    name = request.type.generation.name
    row = api_choice.read_generation_apis().get(name)
    zones = row.flex_start if row else ()
    if request.zone not in zones:
        known = (
            f"for {name} it names {phrases.join_words(zones)}" if zones else f"it names no {name}"
        )
        raise Problem(
            f"Google's page on flex-start does not name {request.zone} for {name}: {known}",
            hint=f"read {DOCS}",
            code=ExitCode.USAGE,
        )
    command = gcloud_commands.build_create_command(request, project)
    kept = [word for word in command if not word.startswith(_VALID_UNTIL)]
    return (
        *kept[:1],
        "alpha",
        *kept[1:],
        "--provisioning-model=flex-start",
        f"--max-run-duration={request.run_s}s",
        f"{_VALID_UNTIL}={request.valid_until_s or request.run_s}s",
    )


def describe_command(request: TpuRequest) -> str:
    """Return a sentence that describes the command's effect."""
    waits = phrases.format_duration(request.valid_until_s or request.run_s)
    runs = phrases.format_duration(request.run_s)
    return (
        f"This waits {waits} at most for a TPU, and Google deletes it after {runs}. gcloud has "
        "flex-start in `alpha` only."
    )
