"""`tpustarter tpu cost`: an upper bound on the chips' cost so far, and the charges left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    INDENT,
    choose_project,
    common_options,
    make_google_client,
    show_commands,
)
from tpustarter.cloud.api import gcloud_commands
from tpustarter.cloud.api.api_client import EVERY_ZONE
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.resources import QueuedResource, TpuNode, list_unreachable
from tpustarter.cloud.billing import chips, cost
from tpustarter.cloud.billing.cost import CostEstimate
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.text import event_text
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap


@click.command("cost", cls=StrictCommand, epilog="Example: tpustarter tpu cost")
@common_options(zone=None)
@click.option("--zone", metavar="ZONE", help="Look in this zone only.  [default: every zone]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def cost_command(*, project: str | None, zone: str | None, dry_run: bool, as_json: bool) -> None:
    """Show the most that the chips of each TPU can have cost so far.

    The figure is the hours since creation, times the number of chips, times the on-demand price,
    which is shown with its date. Spot costs less than that. If a price is not known, the answer
    says so. Chips that a TRC grant covers cost nothing.
    """
    with print_errors_as_json(cost.SCHEMA, wanted=as_json):
        where = choose_project(project, dry_run=dry_run)
        zone_name = tpu_request.validate_zone(zone) if zone else EVERY_ZONE
        if dry_run:
            show_commands(
                gcloud_commands.build_list_commands(zone_name, where),
                dry_run=True,
                schema=cost.SCHEMA if as_json else None,
            )
            return
        client = make_google_client(where)
        queued, nodes = client.resources(zone_name)
        rows: list[QueuedResource | TpuNode] = [*queued.items, *nodes.items]
        if trc_grant.is_grant_unreadable():
            text = "note: the TRC grant cannot be read, so no chips are taken for covered by it"
            click.echo(text, err=True)
        estimates = cost.estimate_costs(rows, WallClock().now(), trc_grant.find_grant())
        unreachable = list_unreachable(queued, nodes)
        if as_json:
            print_result(cost.make_json_document(estimates, unreachable))
            return
        echo_lines(cost_lines(estimates, unreachable))


def cost_lines(estimates: Sequence[CostEstimate], unreachable: Sequence[str]) -> Iterator[str]:
    """Yield each TPU's cost, the sum of the known costs, and the charges left out."""
    for one in estimates:
        row = one.resource
        age = f", {phrases.format_duration(one.hours * 3600)}" if one.hours is not None else ""
        what = f"{chips.short_type_name(row.type)} {row.tier} in {row.zone}"
        yield f"{escape_text(row.name)}  {escape_text(what)}{age}"
        yield from wrap(escape_text(one.words), INDENT)
        if one.usd_per_hour:
            bound = "at most " if row.tier == "spot" else ""
            yield f"{INDENT}each further hour: {bound}{one.usd_per_hour:,.2f} USD"
    if not estimates:
        yield "Nothing exists that chips could be billed for, as far as Google lists it."
    else:
        yield ""
        yield from _sum(estimates)
    yield ""
    for sentence in cost.LEFT_OUT:
        yield from wrap(sentence)
    for price in dict.fromkeys(one.price for one in estimates if one.price):
        line = f"{price.usd_per_chip_hour:g} USD a chip and hour, read {price.read}: {price.source}"
        yield from wrap(line, "", INDENT)
    if unreachable:
        yield from wrap(escape_text(event_text.describe_unreachable(unreachable)))


def _sum(estimates: Sequence[CostEstimate]) -> Iterator[str]:
    known = [one.usd for one in estimates if one.usd is not None]
    missing = [one for one in estimates if one.kind in ("look-up", "unknown")]
    if known:
        yield f"Known together: at most {sum(known):,.2f} USD for chips."
    if missing:
        count = phrases.format_count(len(missing), "TPU is", "TPUs are")
        yield f"{count} not in this sum, as the price is not known here."
