"""`tpustarter tpu stop` and `start`: pause and resume the billing of a single TPU VM's chips."""

from __future__ import annotations

import click

from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    api_option,
    choose_project,
    common_options,
    make_google_client,
    require_typed_text,
    show_commands,
)
from tpustarter.cloud.api import api_choice, gcloud_commands, project_and_zone
from tpustarter.cloud.api.api_client import EVERY_ZONE, ProjectClient
from tpustarter.cloud.api.resources import Api, TpuNode
from tpustarter.cloud.delete import removal, stop_and_start
from tpustarter.cloud.delete.stop_and_start import Verb
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text

_YES = click.option("--yes", is_flag=True, help="Don't ask me to type the name.")


@click.command("stop", cls=StrictCommand, epilog="Example: tpustarter tpu stop bert")
@click.argument("name")
@common_options()
@api_option
@_YES
def stop_command(
    *,
    name: str,
    project: str | None,
    zone: str | None,
    api: Api | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Stop a TPU VM. Its chips are no longer billed, but its disk is.

    Google can't stop a slice of several hosts, and a stopped TPU VM needs free capacity to start.
    """
    _send("stop", name, project, zone, api, dry_run=dry_run, yes=yes)


@click.command("start", cls=StrictCommand, epilog="Example: tpustarter tpu start bert")
@click.argument("name")
@common_options()
@api_option
@_YES
def start_command(
    *,
    name: str,
    project: str | None,
    zone: str | None,
    api: Api | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Start a stopped TPU VM. It is billed from then on."""
    _send("start", name, project, zone, api, dry_run=dry_run, yes=yes)


def _send(
    verb: Verb,
    name: str,
    typed: str | None,
    zone: str | None,
    api: Api | None,
    *,
    dry_run: bool,
    yes: bool,
) -> None:
    project = choose_project(typed, dry_run=dry_run)
    zone_name = project_and_zone.find_zone(zone)
    if dry_run:
        show_commands(
            [
                gcloud_commands.build_node_command(
                    verb, zone_name or "ZONE", name, project, api or "cloud-tpu"
                )
            ],
            dry_run=True,
        )
        return
    client = make_google_client(project)
    node = _find(client, name, zone_name, api)
    stop_and_start.require_can_stop_or_start(verb, node)
    command = gcloud_commands.build_node_command(verb, node.zone, node.name, project, node.api)
    show_commands([command], dry_run=False)
    billed = "it is billed from then on" if verb == "start" else "what runs on it ends"
    require_typed_text(f"To {verb} `{name}`, type its name ({billed})", name, "--yes", yes=yes)
    stop_and_start.send_stop_or_start(client.of(node.api), verb, node)
    following = f"tpustarter tpu show {escape_text(name)}"
    click.echo(format_commands(f"Google has taken it. Follow it with: {following}"))


def _find(client: ProjectClient, name: str, zone: str | None, api: Api | None) -> TpuNode:
    listed = (client.of(api) if api else client).nodes(zone or EVERY_ZONE)
    nodes = [node for node in listed.items if node.name == name]
    if not nodes:
        raise removal.make_missing_tpu_problem(name, listed.unreachable)
    if len(nodes) > 1:
        places: list[tuple[str, Api]] = [(node.zone, node.api) for node in nodes]
        raise api_choice.make_ambiguity_problem(name, places, takes_api=True)
    return nodes[0]
