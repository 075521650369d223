"""`tpustarter tpu watch`: follows a request through its states."""

from __future__ import annotations

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    choose_project,
    common_options,
    end_wait_at_signals,
    make_google_client,
    print_events,
    show_commands,
)
from tpustarter.cloud.api import api_choice, gcloud_commands, project_and_zone, resource_states
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api.api_client import EVERY_ZONE, ProjectClient
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.create.follow_request import follow_request
from tpustarter.cloud.delete import removal, withdrawal
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import break_command, line_width

_CONNECT = "Connect:        "


@click.command(
    "watch",
    cls=StrictCommand,
    short_help="Follow a request until its TPU is there.",
    epilog="Example: tpustarter tpu watch bert",
)
@click.argument("name")
@common_options()
def watch_command(*, name: str, project: str | None, zone: str | None, dry_run: bool) -> None:
    """Follow a request until its TPU is there, or until it is certain that it won't come.

    Ctrl-C only stops following, and the request stays in the queue.
    """
    where = choose_project(project, dry_run=dry_run)
    if dry_run:
        zone_shown = zone or project_and_zone.find_zone(None) or "ZONE"
        show_commands(
            gcloud_commands.build_describe_commands(zone_shown, name, where),
            dry_run=True,
        )
        return
    project_client, clock = make_google_client(where), WallClock()
    entry = find_ledger_entry(project_client, name, zone)
    client = project_client.of(entry.api)
    hint = f"`{name}` stays as it is; take it back with `tpustarter tpu delete {name}`"
    with end_wait_at_signals(hint):
        resource = print_events(follow_request(client, entry, clock))
    if resource is None:
        print_events(withdrawal.wait_until_gone(client, entry, clock))
        raise removal.make_missing_tpu_problem(name)
    print_ready_commands(resource)


def find_ledger_entry(client: ProjectClient, name: str, zone: str | None) -> LedgerEntry:
    """Return the entry to follow, from the ledger or else from Google's list; raises Problem."""
    matches = [
        entry
        for entry in ledger.read_ledger()
        if entry.project == client.project and entry.name == name and zone in (None, entry.zone)
    ]
    if len(matches) == 1:
        return matches[0]
    queued = client.resources(zone or EVERY_ZONE)[0]
    rows = [one for one in queued.items if one.name == name or name in one.nodes]
    if not rows:
        raise removal.make_missing_tpu_problem(name, queued.unreachable)
    if len(rows) > 1:
        raise api_choice.make_ambiguity_problem(name, [(row.zone, row.api) for row in rows])
    one = removal.DeletionPlan(rows[0].zone, rows[0].name, rows[0], ())
    return removal.make_entry_for_foreign_tpu(client.project, one)


def print_ready_commands(resource: QueuedResource) -> None:
    """Print the commands for a TPU that is ready; raises Problem for a failed request."""
    if resource.state == "ACTIVE":
        node = resource.nodes[0] if resource.nodes else resource.name
        click.echo("")
        ssh = worker_connection.build_login_command(resource)
        first, *others = break_command(ssh, line_width() - len(_CONNECT))
        echo_lines([f"{_CONNECT}{first}", *(f"{' ' * len(_CONNECT)}{line}" for line in others)])
        click.echo(
            format_commands(f"On all workers: tpustarter tpu run {node} --worker all -- COMMAND")
        )
        click.echo(format_commands(f"When done:      tpustarter tpu delete {resource.name}"))
        return
    if resource.error:
        raise api_errors.make_cloud_problem(
            *resource.error, f"Google Cloud did not provide `{resource.name}`"
        )
    meaning = resource_states.find_state_meaning(resource).meaning
    raise Problem(
        f"`{resource.name}` is {resource.state}: {meaning}",
        hint=f"run `tpustarter tpu delete {resource.name}`, then ask for the TPU again",
        code=ExitCode.FAILED,
    )
