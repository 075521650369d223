"""`tpustarter tpu ssh-config`: entries for TPUs in the user's ssh configuration."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tpustarter.cli.command_end import format_path
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import choose_project, make_google_client
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api import project_and_zone, workers
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import ssh_config
from tpustarter.cloud.jobs.ssh_config import SshConfigFile, SshEntry
from tpustarter.core import locations
from tpustarter.text.terminal import escape_text, wrap


@click.command(
    "ssh-config",
    cls=StrictCommand,
    epilog="Example: tpustarter tpu ssh-config bert, then: ssh tpu-bert",
)
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The ssh configuration file.  [default: ~/.ssh/config]",
)
@click.option(
    "--remove", is_flag=True, help="Remove the entries of NAME; without NAME, remove them all."
)
@click.option(
    "--iap",
    is_flag=True,
    help="Connect through Identity-Aware Proxy, even if the TPU has an address.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="The user to log in as.  [default: your user name on this machine]",
)
@click.option("--zone", metavar="ZONE", help="Look in this zone only.  [default: every zone]")
@click.option("--project", metavar="ID", help="The Google Cloud project.  [default: gcloud's]")
@click.option("--dry-run", is_flag=True, help="Show the difference and write nothing.")
def ssh_config_command(
    *,
    names: tuple[str, ...],
    file: Path | None,
    remove: bool,
    iap: bool,
    user: str | None,
    project: str | None,
    zone: str | None,
    dry_run: bool,
) -> None:
    """Let ssh, scp, rsync and editors reach your TPUs by name.

    It writes an entry for each worker into your ssh configuration. For a TPU called bert these are
    tpu-bert-w0, tpu-bert-w1 and so on, and tpu-bert for the first worker. Without NAME, it writes
    entries for every TPU that is READY, and removes those of TPUs that are gone. You see the
    difference first, and all other lines stay as they are.
    """
    path = locations.expand_path(file) if file else ssh_config.default_ssh_config_path()
    zone = tpu_request.validate_zone(zone) if zone else None
    before = ssh_config.read_config(path)
    if remove:
        entries = _without(before, names, zone)
    else:
        who = worker_connection.validate_user(user) or worker_connection.default_user()
        where = choose_project(project, dry_run=dry_run)
        entries = _with(before, names, zone, where, iap=iap, user=who, dry_run=dry_run)
    data = ssh_config.build_config(before, entries)
    if data == before.data:
        click.echo(f"{format_path(path)} is as it should be.")
        return
    for line in _difference(path, before.data, data):
        click.echo(line)
    if dry_run:
        click.echo("Nothing was written.")
        return
    ssh_config.write_config(before, data)
    click.echo(f"{format_path(path)} was written.")
    for line in _describe_next_step(entries, before.entries):
        click.echo(line)


def _without(file: SshConfigFile, names: Sequence[str], zone: str | None) -> list[SshEntry]:

    def is_removed(entry: SshEntry) -> bool:
        return (not names or entry.name in names) and zone in (None, entry.zone)

    known = {entry.name for entry in file.entries if is_removed(entry)}
    for name in sorted({*names} - known):
        click.echo(f"`{escape_text(name)}` has no entry.", err=True)
    return [entry for entry in file.entries if not is_removed(entry)]


def _with(
    file: SshConfigFile,
    names: Sequence[str],
    zone: str | None,
    project: Project,
    *,
    iap: bool,
    user: str,
    dry_run: bool,
) -> list[SshEntry]:
    if project == project_and_zone.PLACEHOLDER and not names:
        project_and_zone.require_project(None)
    try:
        if project == project_and_zone.PLACEHOLDER:
            raise api_errors.make_cloud_problem(None, "", "no project is known")
        client = make_google_client(project)
        if names:
            nodes = [node for name in names for node in workers.find_nodes(client, name, zone)]
            stays = {entry.key: entry for entry in file.entries}
        else:
            nodes, stays = _all_ready(client, file, zone)
    except CloudProblem as problem:
        if not (dry_run and names and problem.kind in ("auth", "network", "unknown")):
            raise
        nodes, stays = _examples(names, zone, project), {}
        for line in wrap(
            f"Google was not asked, because {problem.summary}. The addresses "
            "below stand for those that it would name."
        ):
            click.echo(escape_text(line), err=True)
    for node in nodes:
        hosts = workers.choose_workers([node])
        entry = ssh_config.make_entry(hosts, iap=iap, user=user)
        stays[entry.key] = entry
    return list(stays.values())


def _all_ready(
    client: ProjectClient, file: SshConfigFile, zone: str | None
) -> tuple[list[TpuNode], dict[tuple[str, str, str], SshEntry]]:
    """Return the READY nodes, and the entries in projects and zones that were not read."""
    listing = workers.list_nodes(client, zone)
    for name in listing.unreachable:
        click.echo(
            f"Google could not reach {escape_text(name)}: its entries stay as they are.", err=True
        )
    stays = {
        entry.key: entry
        for entry in file.entries
        if entry.project != client.project
        or entry.zone in listing.unreachable
        or zone not in (None, entry.zone)
    }
    nodes = [node for node in listing.items if node.state == "READY"]
    if not nodes:
        where = f"zone {zone}" if zone else "any zone"
        click.echo(f"No TPU of this project is READY in {where}.", err=True)
    return nodes, stays


def _examples(names: Sequence[str], zone: str | None, project: Project) -> list[TpuNode]:
    """Return nodes with these names, each with an address reserved for documentation."""
    zone = zone or project_and_zone.find_zone(None) or "us-central1-b"
    name = project.name if project != project_and_zone.PLACEHOLDER else "my-project"
    return [
        TpuNode(
            name,
            zone,
            tpu_request.validate_tpu_name(one),
            "",
            "READY",
            workers=1,
            internal_addresses=("10.0.0.2",),
            external_addresses=("192.0.2.1",),
        )
        for one in names
    ]


def _difference(path: Path, before: bytes, after: bytes) -> Iterator[str]:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in difflib.unified_diff(old, new, str(path), str(path), "now", "then", lineterm=""):
        yield escape_text(line.expandtabs())


def _describe_next_step(entries: Sequence[SshEntry], before: Sequence[SshEntry]) -> Iterator[str]:
    added = [entry for entry in entries if entry not in before]
    if not added:
        return
    entry = added[0]
    yield f"Connect with: ssh tpu-{entry.name}"
    if not worker_connection.key_file().exists():
        node = TpuNode(entry.project, entry.zone, entry.name, "", "READY")
        first = worker_connection.build_login_command(node, "--command=true")
        yield from wrap(
            f"There is no {worker_connection.KEY} yet. gcloud makes it, and adds it to the TPU, "
            f"when it connects for the first time: `{first}`"
        )
