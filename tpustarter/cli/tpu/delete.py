"""`tpustarter tpu delete`: deletes a TPU, or all leftover requests."""

from __future__ import annotations

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    INDENT,
    api_option,
    choose_project,
    common_options,
    end_wait_at_signals,
    format_tpu_lines,
    make_google_client,
    print_events,
    require_typed_text,
    show_commands,
)
from tpustarter.cloud.api import api_choice, gcloud_commands, project_and_zone
from tpustarter.cloud.api.api_client import EVERY_ZONE, ProjectClient
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import Api, list_unreachable
from tpustarter.cloud.billing import inventory, ledger
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.follow_request import GONE_S
from tpustarter.cloud.delete import removal
from tpustarter.cloud.delete.removal import DeletionPlan
from tpustarter.cloud.text import event_text
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text, wrap


@click.command(
    "delete",
    cls=StrictCommand,
    short_help="Delete a TPU and its request, or requests that are left over.",
    epilog="Example: tpustarter tpu delete bert",
)
@click.argument("name", required=False)
@click.option(
    "--leftovers",
    is_flag=True,
    help="Delete every request made from here that has no TPU but still takes up its name and "
    "quota.",
)
@common_options(zone=None)
@click.option("--zone", metavar="ZONE", help="Look in this zone only.  [default: every zone]")
@api_option
@click.option("--yes", is_flag=True, help="Don't ask me to type the name.")
@click.option("--no-wait", is_flag=True, help="Return as soon as Google has accepted the deletion.")
def delete_command(
    *,
    name: str | None,
    leftovers: bool,
    project: str | None,
    zone: str | None,
    api: Api | None,
    dry_run: bool,
    yes: bool,
    no_wait: bool,
) -> None:
    """Delete a TPU and its request, or every request of yours that is left over.

    You see first what will be deleted, and nothing is sent before you type its name. `--leftovers`
    shows what may be somebody else's too, but only its name deletes that.
    """
    if bool(name) == leftovers:
        raise Problem(
            "it is not clear what to delete, expected either a name or `--leftovers`",
            hint="`tpustarter tpu list` shows what exists",
            code=ExitCode.USAGE,
        )
    where = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_what_would_be_sent(name, zone, api, where)
        return
    client = make_google_client(where)
    zone = tpu_request.validate_zone(zone) if zone else EVERY_ZONE
    doomed = _find(client, name, zone, api) if name else _find_leftovers(client, zone, api)
    if not doomed:
        return
    _show(client, doomed, where)
    word = name or "leftovers"
    require_typed_text(f"To delete this, type `{word}`", word, "--yes", yes=yes)
    if not no_wait and not any(one.is_too_early for one in doomed):
        longest = phrases.format_duration(GONE_S)
        click.echo(f"Waiting until Google lists it no longer, for {longest} at most.")
    _delete(client, doomed, wait=not no_wait)


def _delete(client: ProjectClient, doomed: list[DeletionPlan], *, wait: bool) -> None:
    """Delete all; raises Problem if Google still lists some, or refused to delete them."""
    kept = failed = 0
    with end_wait_at_signals("`tpustarter tpu list` shows what is left"):
        for one in doomed:
            deletion = removal.carry_out_deletion(client, one, WallClock(), wait=wait)
            try:
                kept += not print_events(deletion)
            except Problem as problem:  # an error of one must not prevent the other deletions
                if len(doomed) == 1:
                    raise
                failed += 1
                click.echo(str(problem), err=True)
    if failed:
        raise Problem(
            f"{failed} of {len(doomed)} were not deleted",
            hint="`tpustarter tpu list` shows what is left",
            code=ExitCode.INCONCLUSIVE,
        )
    if kept and wait:
        raise Problem(
            f"{kept} of {len(doomed)} are still listed by Google",
            hint="`tpustarter tpu list` shows them until they are gone",
            code=ExitCode.INCONCLUSIVE,
        )


def _show_what_would_be_sent(
    name: str | None, zone: str | None, api: Api | None, project: Project
) -> None:
    """Print the commands without querying Google, so they do not depend on the current states."""
    zone_shown = zone or project_and_zone.find_zone(None) or "ZONE"
    if name is None:
        commands = gcloud_commands.build_list_commands("-", project)
        text = (
            "What is SUSPENDED, FAILED or PREEMPTED in these lists would be deleted, and groups "
            "without instances, with their templates and workload policies, if you asked for it "
            "from here."
        )
        echo_lines(wrap(text))
    elif api == "compute":
        commands = [gcloud_commands.build_instance_command("delete", zone_shown, name, project)]
    else:
        commands = [gcloud_commands.build_delete_command(zone_shown, name, project, force=True)]
    show_commands(commands, dry_run=True)


def _find_leftovers(client: ProjectClient, zone: str, api: Api | None) -> list[DeletionPlan]:
    """Return the plans for the user's leftovers; prints those that may be somebody else's."""
    queued, nodes = (client.of(api) if api else client).resources(zone)
    found = removal.find_leftovers(client.project, queued.items, nodes.items)
    ours, others = found.ours, found.others
    unreachable = list_unreachable(queued, nodes)
    if others:
        _show_others(client, others)
    if unreachable:
        echo_lines(wrap(escape_text(event_text.describe_unreachable(unreachable))))
    if not ours:
        is_rest = bool(others or unreachable)
        click.echo(event_text.describe_no_leftovers(is_rest=is_rest))
    elif others or unreachable:
        click.echo("")
    return ours


def _show_others(client: ProjectClient, others: list[DeletionPlan]) -> None:
    """Print leftovers that may be somebody else's, each with the command that deletes it."""
    now = WallClock().now()
    rows = [inventory.make_tpu_row(one, client.project) for one in others]
    for one, row in zip(others, rows, strict=True):
        click.echo(next(format_tpu_lines(row, now)))
        name, zone = escape_text(one.name), escape_text(one.zone)
        command = f"tpustarter tpu delete {name} --zone {zone} --api {one.api}"
        click.echo(format_commands(f"{INDENT}{command}"))
    echo_lines(wrap(event_text.describe_others_leftovers([row.owner for row in rows])))


def _find(client: ProjectClient, name: str, zone: str, api: Api | None) -> list[DeletionPlan]:
    """Return the deletion plans; raises Problem for a name that is absent or ambiguous."""
    queued, nodes = (client.of(api) if api else client).resources(zone)
    doomed = removal.find_deletion_plans(queued.items, nodes.items, name)
    asked = ledger.find_ledger_entries(client.project, name)
    is_asked = any(zone in (EVERY_ZONE, one.zone) and api in (None, one.api) for one in asked)
    if not doomed and is_asked:
        raise Problem(
            f"Google does not list `{escape_text(name)}`, but its request may still arrive",
            hint=f"follow it with `tpustarter tpu watch {escape_text(name)}`, and delete it once "
            "it is there",
            code=ExitCode.BUSY,
        )
    if not doomed:
        raise removal.make_missing_tpu_problem(name, list_unreachable(queued, nodes))
    if len(doomed) > 1:
        places: list[tuple[str, Api]] = [(one.zone, one.api) for one in doomed]
        raise api_choice.make_ambiguity_problem(name, places, takes_api=True)
    return doomed


def _show(client: ProjectClient, doomed: list[DeletionPlan], project: Project) -> None:
    now = WallClock().now()
    for one in doomed:
        row = inventory.make_tpu_row(one, client.project)
        for line in format_tpu_lines(row, now):
            click.echo(line)
        if row.owner != "ours":
            click.echo(f"{INDENT}it {event_text.describe_owner((row.owner,))}")
        names = ", ".join(escape_text(node.name) for node in one.nodes)
        click.echo(f"      goes with its nodes: {names}" if names else "      it has no nodes")
    click.echo("What is on their disks is lost.")
    show_commands([line for one in doomed for line in one.commands(project)], dry_run=False)
