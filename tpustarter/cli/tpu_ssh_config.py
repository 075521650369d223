"""`tpustarter tpu ssh-config`: entries for TPUs in the user's ssh configuration."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tpustarter.cli.endings import typed
from tpustarter.cli.tpu_parts import connect, place
from tpustarter.cloud import connecting, failures, places, request, ssh_config, workers
from tpustarter.cloud.client import Client
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.places import Project
from tpustarter.cloud.resources import Node
from tpustarter.cloud.ssh_config import Entry, File
from tpustarter.terminal import visible, wrap


@click.command("ssh-config", epilog="Example: tpustarter tpu ssh-config bert, then: ssh tpu-bert")
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
    path = file.expanduser() if file else ssh_config.default_path()
    zone = request.check_zone(zone) if zone else None
    before = ssh_config.read(path)
    if remove:
        entries = _without(before, names, zone)
    else:
        who = connecting.check_user(user) or connecting.default_user()
        where = place(project, dry_run=dry_run)
        entries = _with(before, names, zone, where, iap=iap, user=who, dry_run=dry_run)
    data = ssh_config.changed(before, entries)
    if data == before.data:
        click.echo(f"{typed(path)} is as it should be.")
        return
    for line in _difference(path, before.data, data):
        click.echo(line)
    if dry_run:
        click.echo("Nothing was written.")
        return
    ssh_config.write(before, data)
    click.echo(f"{typed(path)} was written.")
    for line in _what_next(entries, before.entries):
        click.echo(line)


def _without(file: File, names: Sequence[str], zone: str | None) -> list[Entry]:
    """Return the entries that stay once those of the names are gone, or once all are."""

    def goes(entry: Entry) -> bool:
        return (not names or entry.name in names) and zone in (None, entry.zone)

    known = {entry.name for entry in file.entries if goes(entry)}
    for name in sorted({*names} - known):
        click.echo(f"`{visible(name)}` has no entry.", err=True)
    return [entry for entry in file.entries if not goes(entry)]


def _with(
    file: File,
    names: Sequence[str],
    zone: str | None,
    project: Project,
    *,
    iap: bool,
    user: str,
    dry_run: bool,
) -> list[Entry]:
    """Return all entries: fresh ones for the TPUs that are meant, and those that stay."""
    if project == places.PLACEHOLDER and not names:
        places.project(None)
    try:
        if project == places.PLACEHOLDER:
            raise failures.problem(None, "", "no project is known")
        client = connect(project)
        if names:
            nodes = [node for name in names for node in workers.find(client, name, zone)]
            stays = {entry.key: entry for entry in file.entries}
        else:
            nodes, stays = _all_ready(client, file, zone)
    except CloudProblem as problem:
        if not (dry_run and names and problem.kind in ("auth", "network", "unknown")):
            raise
        nodes, stays = _examples(names, zone, project), {}
        for line in wrap(
            f"Google was not asked, because {problem.what.partition(chr(10))[0]}. The addresses "
            "below stand for those that it would name."
        ):
            click.echo(visible(line), err=True)
    for node in nodes:
        hosts = workers.of_nodes([node])
        entry = ssh_config.entry(hosts, iap=iap, user=user)
        stays[entry.key] = entry
    return list(stays.values())


def _all_ready(
    client: Client, file: File, zone: str | None
) -> tuple[list[Node], dict[tuple[str, str, str], Entry]]:
    """Return the nodes that are READY, and the entries that this says nothing about."""
    listing = workers.listed(client, zone)
    for name in listing.unreachable:
        click.echo(
            f"Google could not reach {visible(name)}: its entries stay as they are.", err=True
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


def _examples(names: Sequence[str], zone: str | None, project: Project) -> list[Node]:
    """Return nodes that stand for those of these names, with an address for documentation."""
    zone = zone or places.zone(None) or "us-central1-b"
    name = project.name if project != places.PLACEHOLDER else "my-project"
    return [
        Node(name, zone, request.check_name(one), "", "READY",
             workers=1, internal_addresses=("10.0.0.2",), external_addresses=("192.0.2.1",))
        for one in names
    ]  # fmt: skip


def _difference(path: Path, before: bytes, after: bytes) -> Iterator[str]:
    """Yield what changes, as `diff -u` shows it."""
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in difflib.unified_diff(old, new, str(path), str(path), "now", "then", lineterm=""):
        yield visible(line.expandtabs())


def _what_next(entries: Sequence[Entry], before: Sequence[Entry]) -> Iterator[str]:
    """Yield how the entries are used."""
    added = [entry for entry in entries if entry not in before]
    if not added:
        return
    entry = added[0]
    yield f"Connect with: ssh tpu-{entry.name}"
    if not connecting.key_file().exists():
        node = Node(entry.project, entry.zone, entry.name, "", "READY")
        yield from wrap(
            f"There is no {connecting.KEY} yet. gcloud makes it, and adds it to the TPU, when it "
            f"connects for the first time: `{connecting.first_connection(node)}`"
        )
