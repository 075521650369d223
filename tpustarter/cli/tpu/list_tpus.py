"""`tpustarter tpu list` and `show`: a project's TPUs, their states and the user's next action."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tpustarter.cli.command_end import format_path, print_errors_as_json, print_result
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    choose_project,
    common_options,
    draw_slice,
    format_tpu_lines,
    make_google_client,
    show_commands,
)
from tpustarter.cloud.api import gcloud_commands, project_and_zone
from tpustarter.cloud.api.api_client import EVERY_ZONE
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.billing import inventory, ledger
from tpustarter.cloud.billing.inventory import ListedTpu, ProjectOverview
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.delete import removal
from tpustarter.cloud.text import event_text
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text, format_code, wrap

if TYPE_CHECKING:
    from tpustarter.cloud.api.project_and_zone import Project
    from tpustarter.cloud.api.unhealthy_tpus import UnhealthyTpu

    HealthAnswer = tuple[list[UnhealthyTpu], str]

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command(
    "list",
    cls=StrictCommand,
    short_help="List every TPU and every request, with its state.",
    epilog="Example: tpustarter tpu list",
)
@common_options(zone=None)
@click.option("--zone", metavar="ZONE", help="Look in this zone only.  [default: every zone]")
@click.option(
    "--health",
    is_flag=True,
    help="Also ask Cloud Monitoring for TPUs that Google marks as broken.",
)
@_JSON
def list_command(
    *, project: str | None, zone: str | None, health: bool, dry_run: bool, as_json: bool
) -> None:
    """List every TPU and every request for one, and say what its state means.

    A request that you made with tpustarter is listed until it is known to be gone, even if Google
    no longer lists it.
    """
    with print_errors_as_json(inventory.SCHEMA, wanted=as_json):
        where = choose_project(project, dry_run=dry_run)
        zone_name = tpu_request.validate_zone(zone) if zone else EVERY_ZONE
        if dry_run:
            show_commands(
                gcloud_commands.build_list_commands(zone_name, where),
                dry_run=True,
                schema=inventory.SCHEMA if as_json else None,
            )
            return
        seen = inventory.fetch_overview(make_google_client(where), WallClock(), zone_name)
        _print(seen, seen.rows, as_json=as_json, health=_find_unhealthy(where) if health else None)


def _find_unhealthy(project: Project) -> HealthAnswer:
    """Return the TPUs that Google marks as broken, or the reason why it is not known."""
    from tpustarter.cloud.api import compute_client, unhealthy_tpus
    from tpustarter.cloud.api.rest_client import UnansweredError

    try:
        google = compute_client.open_rest_client(project.name)
        return unhealthy_tpus.fetch_unhealthy_tpus(google, project.name, WallClock().now()), ""
    except UnansweredError as error:
        return [], str(error)


@click.command(
    "show",
    cls=StrictCommand,
    short_help="Show the state, workers, addresses and health of one TPU.",
    epilog="Example: tpustarter tpu show bert",
)
@click.argument("name")
@common_options(zone=None)
@click.option("--zone", metavar="ZONE", help="Look in this zone only.  [default: every zone]")
@_JSON
def show_command(
    *, name: str, project: str | None, zone: str | None, dry_run: bool, as_json: bool
) -> None:
    """Show the state of one TPU, its workers with their addresses, and its health."""
    with print_errors_as_json(inventory.SCHEMA, wanted=as_json):
        where = choose_project(project, dry_run=dry_run)
        zone_name = tpu_request.validate_zone(zone) if zone else EVERY_ZONE
        if dry_run:
            zone_shown = zone or project_and_zone.find_zone(None) or "ZONE"
            commands = gcloud_commands.build_describe_commands(zone_shown, name, where)
            show_commands(commands, dry_run=True, schema=inventory.SCHEMA if as_json else None)
            return
        seen = inventory.fetch_overview(make_google_client(where), WallClock(), zone_name)
        rows = inventory.find_rows(seen.rows, name)
        if not rows:
            raise removal.make_missing_tpu_problem(name, seen.unreachable)
        _print(seen, tuple(rows), as_json=as_json, whole=True)


def _print(
    seen: ProjectOverview,
    rows: tuple[ListedTpu, ...],
    *,
    as_json: bool,
    whole: bool = False,
    health: HealthAnswer | None = None,
) -> None:
    now = WallClock().now()
    if as_json:
        fields: dict[str, object] = {
            "schema": inventory.SCHEMA,
            "tpus": [row.fields(now) for row in rows],
            "unreachable": list(seen.unreachable),
            "billed_chips": seen.billed_chips,
            "put_aside": [_unreadable(path) for path in ledger.list_unreadable_files()],
            "exit_code": 0,
        }
        if health:
            unhealthy, unknown = health
            fields["unhealthy"] = None if unknown else msgspec.to_builtins(unhealthy)
        print_result(fields)
        return
    for row in rows:
        click.echo(format_code("\n".join(format_tpu_lines(row, now))))
        if whole:
            for line in _describe_nodes(row):
                click.echo(line)
    for line in _summary(replace(seen, rows=rows)):
        click.echo(line)
    for line in _describe_health(*health) if health else ():
        click.echo(line)


def _describe_health(unhealthy: list[UnhealthyTpu], unknown: str) -> Iterator[str]:
    yield ""
    if unknown:
        yield from wrap(escape_text(f"Whether Google marks a TPU as broken is unknown: {unknown}."))
    elif not unhealthy:
        yield "Google's health monitoring marked no TPU of this project in the last 10 minutes."
    for tpu in unhealthy:
        where = f"Instance {tpu.instance} in {tpu.zone} ({tpu.machine_type})"
        yield from wrap(escape_text(f"{where}, {tpu.cause}: {tpu.state.meaning}"))
        yield from wrap(escape_text(tpu.state.do), "      ")


def _unreadable(path: Path) -> dict[str, str]:
    from tpustarter.core.redact import Redactor

    file = Redactor(os.environ).redact_text(str(path))
    return {"file": file, "words": event_text.format_unreadable_warning(file)}


def _describe_nodes(row: ListedTpu) -> Iterator[str]:
    for node in row.nodes:
        facts = ", ".join(filter(None, (node.state, node.runtime_version)))
        yield escape_text(f"      {node.name}: {facts}")
        yield from draw_slice(node, "        ")
        for worker, address in enumerate(node.internal_addresses):
            outside = node.external_addresses[worker : worker + 1]
            shown = f", {outside[0]} from outside" if outside else ", no external address"
            yield f"        worker {worker}: {address}{shown}"


def _summary(seen: ProjectOverview) -> Iterator[str]:
    """Yield a summary of the rows, and of what is known to be missing."""
    if seen.rows:
        yield ""
    if not seen.rows:
        yield "No TPU and no request for one exists in this project, as far as Google lists them."
        yield format_commands(
            "To get one: tpustarter tpu create NAME --type v5e-1 --zone ZONE --dry-run"
        )
    elif seen.billed_chips:
        number = seen.billed_chips
        chips = phrases.format_count(number, "chip is billed", "chips are billed")
        yield from wrap(f"{chips}, or may be, until you delete what has them.")
    else:
        yield "None of this is billed for chips now."
    if seen.leftovers:
        count = len(seen.leftovers)
        subject = phrases.format_count(count, "leftover takes up its", "leftovers take up their")
        yield format_commands(f"{subject} name and quota: tpustarter tpu delete --leftovers")
    if others := seen.others_leftovers:
        many = "leftovers take up their"
        subject = phrases.format_count(len(others), "leftover takes up its", many)
        told = event_text.describe_others_leftovers([row.owner for row in others])
        yield from wrap(f"{subject} name and quota. {told}")
    for path in ledger.list_unreadable_files():
        yield from wrap(escape_text(event_text.format_unreadable_warning(format_path(path))))
    if seen.unreachable:
        yield from wrap(escape_text(event_text.describe_unreachable(seen.unreachable)))
