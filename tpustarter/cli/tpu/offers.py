"""`tpustarter tpu zones`, `types` and `versions`: Google's current offers for this project."""

from __future__ import annotations

from collections.abc import Callable

import click

from tpustarter.cli.command_end import print_errors_as_json
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    choose_project,
    common_options,
    make_google_client,
    show_commands,
)
from tpustarter.cloud.api import cached_offers, gcloud_commands, project_and_zone
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.cached_offers import CloudOffer
from tpustarter.cloud.api.clock import WallClock
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap

SCHEMA = "tpustarter.offers/1"
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command("zones", cls=StrictCommand, epilog="Example: tpustarter tpu zones")
@common_options(zone=None)
@_JSON
def zones_command(*, project: str | None, dry_run: bool, as_json: bool) -> None:
    """List the zones that have Cloud TPU for this project."""
    _show(
        "locations",
        project,
        lambda: None,
        lambda client, _: client.zones(),
        dry_run=dry_run,
        as_json=as_json,
    )


@click.command(
    "types", cls=StrictCommand, epilog="Example: tpustarter tpu types --zone us-central1-b"
)
@common_options()
@_JSON
def types_command(*, project: str | None, zone: str | None, dry_run: bool, as_json: bool) -> None:
    """List the accelerator types that a zone offers.

    A type in this list can still be out of capacity, or beyond your quota.
    """
    _show(
        "accelerator-types",
        project,
        lambda: project_and_zone.require_zone(zone),
        lambda client, z: client.types(z),
        dry_run=dry_run,
        as_json=as_json,
    )


@click.command(
    "versions", cls=StrictCommand, epilog="Example: tpustarter tpu versions --zone us-central1-b"
)
@common_options()
@_JSON
def versions_command(
    *, project: str | None, zone: str | None, dry_run: bool, as_json: bool
) -> None:
    """List the runtime versions, which are the images of TPU VMs."""
    _show(
        "tpu-vm versions",
        project,
        lambda: project_and_zone.require_zone(zone),
        lambda client, z: client.versions(z),
        dry_run=dry_run,
        as_json=as_json,
    )


def _show(
    kind: str,
    typed: str | None,
    need_zone: Callable[[], str | None],
    read: Callable[[OfferingClient, str], list[str]],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    with print_errors_as_json(SCHEMA, wanted=as_json):
        zone = need_zone()
        project = choose_project(typed, dry_run=dry_run)
        if dry_run:
            show_commands(
                [gcloud_commands.build_offer_command(kind, zone or "", project)],
                dry_run=True,
                schema=SCHEMA if as_json else None,
            )
            return
        client, clock = make_google_client(project), WallClock()
        key = " ".join(filter(None, (project.name, kind, zone)))
        offer = cached_offers.fetch_offer(key, lambda: read(client, zone or ""), clock)
        if as_json:
            from tpustarter.checking.output import run_document

            click.echo(run_document.format_json_line(_fields(kind, zone, offer)))
            return
        for item in offer.items:
            click.echo(escape_text(item))
        _say_age(offer, (clock.now() - offer.read).total_seconds())


def _say_age(offer: CloudOffer, age_s: float) -> None:
    if offer.problem:
        known = offer.problem.failure is not None
        why = offer.problem.summary if known else "Google does not answer"
        for line in wrap(
            f"This list is {phrases.format_duration(age_s)} old, because {escape_text(why)}."
        ):
            click.echo(line, err=True)


def _fields(kind: str, zone: str | None, offer: CloudOffer) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": kind,
        "zone": zone,
        "items": list(offer.items),
        "read": offer.read.isoformat(timespec="seconds"),
        "live": offer.problem is None,
        "exit_code": 0,
    }
