"""`tpustarter tpu create`: requests a TPU, in the first of the given zones that has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tpustarter.cli.echo import echo_if_waiting, echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.options import (
    choose_project,
    command_lines,
    common_options,
    end_wait_at_signals,
    make_google_client,
    print_events,
    require_typed_text,
    show_commands,
)
from tpustarter.cli.tpu.watch import print_ready_commands
from tpustarter.cloud.api import (
    api_choice,
    compute_requests,
    gcloud_commands,
    project_and_zone,
)
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import Api, Tier
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.create import flex_start, tpu_request
from tpustarter.cloud.create.tpu_creation import PATIENCE_S, TpuCreation
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest
from tpustarter.cloud.text import event_text
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.tpus import TpuType
from tpustarter.text.terminal import escape_text, wrap

MAX_METADATA_BYTES = 256 * 1024
"""Largest metadata value that Compute Engine accepts.

Source: https://docs.cloud.google.com/compute/docs/metadata/setting-custom-metadata (read 2026-11).
"""


@dataclass(frozen=True)
class CreateOptions:
    """The options of `tpustarter tpu create`."""

    name: str
    type_name: str
    zones: tuple[str, ...]
    spot: bool
    reserved: bool
    reservation: str
    version: str | None
    slices: int
    labels: tuple[str, ...]
    metadata: tuple[str, ...]
    startup_script: Path | None
    libtpu_flags: str
    disks: tuple[str, ...]
    network: str
    subnetwork: str
    internal_ips: bool
    service_account: str
    tags: tuple[str, ...]
    valid_until: str
    patience: str
    flex_start: str
    api: Api | None
    outside_grant: bool
    project: str | None
    dry_run: bool
    yes: bool
    no_wait: bool


def _require_time(_: click.Context, option: click.Parameter, value: str) -> str:
    """Return an option's time; raises Problem if the next option was parsed as its value."""
    if not value.startswith("-"):
        return value
    name = option.opts[0]
    raise Problem(
        f"`{name}` needs a time, and `{value}` follows it",
        hint=f"give a time such as `{name} 4h`",
        code=ExitCode.USAGE,
    )


@click.command(
    "create",
    cls=StrictCommand,
    short_help="Ask for a TPU, and follow the request until it is there.",
    epilog="Example: tpustarter tpu create bert --type v6e-8 --zone us-central1-b --spot --dry-run",
)
@click.argument("name")
@click.option(
    "--type",
    "type_name",
    required=True,
    metavar="TYPE",
    help="The accelerator type, such as v6e-8.",
)
@click.option(
    "--zone",
    "zones",
    multiple=True,
    metavar="ZONE",
    help="The zone. Repeat it to try several zones, in this order.  [default: gcloud's]",
)
@click.option(
    "--spot",
    is_flag=True,
    help="Ask for a spot TPU, which is cheaper, but which Google may pre-empt at any time.",
)
@click.option("--reserved", is_flag=True, help="Take the TPU from a reservation of the project.")
@click.option(
    "--reservation",
    default="",
    metavar="PATH",
    help="The full name of that reservation; with Compute Engine its name is enough.",
)
@click.option(
    "--version", metavar="NAME", help="The runtime version.  [default: the one for this generation]"
)
@click.option(
    "--slices",
    type=click.IntRange(1, 256),
    default=1,
    metavar="N",
    help="How many slices to ask for. More than one make a multislice.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="A label. Repeat it for more labels.",
)
@click.option(
    "--metadata",
    multiple=True,
    metavar="KEY=VALUE",
    help="Metadata for every worker. Repeat it for more keys.",
)
@click.option(
    "--startup-script",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A script that every worker runs as root whenever it starts.",
)
@click.option(
    "--libtpu-flags",
    default="",
    metavar="FLAGS",
    help="Flags that the start-up script puts into LIBTPU_INIT_ARGS on every worker.",
)
@click.option(
    "--data-disk",
    "disks",
    multiple=True,
    metavar="PATH[:ro]",
    help="A disk to attach, as projects/P/zones/Z/disks/NAME. Repeat it for more disks.",
)
@click.option(
    "--network", default="default", metavar="NAME", help="The VPC network.  [default: default]"
)
@click.option(
    "--subnetwork",
    default="",
    metavar="NAME",
    help="A subnetwork of that network in the region of the zone.",
)
@click.option(
    "--internal-ips",
    is_flag=True,
    help="Give the workers no external addresses. They then need Private Google Access or "
    "Cloud NAT.",
)
@click.option(
    "--service-account",
    default="",
    metavar="EMAIL",
    help="The service account that the workers use for Google Cloud.",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="A network tag for firewall rules. Repeat it for more tags.",
)
@click.option(
    "--valid-until",
    default="",
    metavar="TIME",
    callback=_require_time,
    help="How long the request may wait for a TPU before it expires, such as 6h or 2d.",
)
@click.option(
    "--patience",
    default="15m",
    metavar="TIME",
    callback=_require_time,
    help="How long to wait in one zone before trying the next.  [default: 15m]",
)
@click.option(
    "--flex-start",
    default="",
    metavar="TIME",
    callback=_require_time,
    help="Ask for a flex-start TPU for this time, such as 4h. Google deletes it after that.",
)
@click.option(
    "--api",
    type=click.Choice(["cloud-tpu", "compute"]),
    help="The API that makes it, where both can.  [default: as the type needs it]",
)
@click.option(
    "--outside-grant",
    is_flag=True,
    help="Ask for a TPU that the TRC grant doesn't cover, and pay for it.",
)
@common_options(zone=None)
@click.option(
    "--yes",
    is_flag=True,
    help="Don't ask me to type the name, unless the TRC grant may not cover this TPU.",
)
@click.option(
    "--no-wait", is_flag=True, help="Stop following once Google has accepted the request."
)
def create_command(**typed: Any) -> None:  # with the options' types
    """Ask for a TPU, and follow the request until it is there.

    NAME becomes the name of the request and of its TPU VM. If you give several zones, they are
    tried one after the other. At most one request exists at any time, so you never pay for two
    TPUs.
    """
    options = CreateOptions(**typed)
    grant = None if options.outside_grant else trc_grant.load_grant()
    requests, sentences = _requests(options, _zones(options, grant))
    project = choose_project(options.project, dry_run=options.dry_run)
    for sentence in sentences:
        echo_lines(wrap(sentence))
    if requests[0].tier == "flex-start" and requests[0].api == "cloud-tpu":
        _judge(requests, grant, None)
        _show_flex_start(requests[0], project)
        return
    _say_what_is_special(requests[0])
    if options.dry_run:
        _judge(requests, grant, None)
    commands = [gcloud_commands.build_create_commands(one, project) for one in requests]
    show_commands([line for lines in commands for line in lines], dry_run=options.dry_run)
    if options.dry_run:
        return
    ledger.require_readable_ledger()
    client = make_google_client(project)
    is_free = _judge(requests, grant, client)
    name = requests[0].name
    bill = "This is billed from the moment it is there"
    if grant:
        bill = "The grant covers its chips" if is_free else "The grant may not cover its chips"
    # --yes never pays for a TPU that the grant does not cover, or may not.
    accepts_yes = is_free or not (grant or options.outside_grant)
    option = "--yes" if accepts_yes else ""
    question = f"{bill}. To ask for it, type `{name}`"
    require_typed_text(question, name, option, yes=options.yes and accepts_yes)
    _ask(client, project, requests, options)


def _ask(
    client: ProjectClient, project: Project, requests: Sequence[TpuRequest], options: CreateOptions
) -> None:
    name = requests[0].name
    patience_s = float(tpu_request.parse_duration(options.patience) or PATIENCE_S)
    creation = TpuCreation(client, project, WallClock())
    happening = creation.run(requests, patience_s=patience_s, wait=not options.no_wait)
    with end_wait_at_signals(lambda: _describe_what_stays(project, name)):
        resource = print_events(happening)
    if resource:
        print_ready_commands(resource)
    else:
        echo_lines(f"Follow it with: tpustarter tpu watch {name}")


def _describe_what_stays(project: Project, name: str) -> str:
    """Return a hint about the requests that go on once nobody waits for them."""
    if not ledger.find_ledger_entries(project.name, name):
        return "no request of this name is at Google now, so nothing is billed"
    return (
        f"the request stays; `tpustarter tpu watch {name}` follows it, "
        f"`tpustarter tpu delete {name}` takes it back"
    )


def _judge(
    requests: Sequence[TpuRequest],
    grant: Grant | None,
    client: ProjectClient | None,
) -> bool:
    """Print the TRC grant's coverage of the requests; raises Problem if one is not covered.

    Returns:
        True if the grant is known to have enough chips left for each of them.
    """
    if grant is None:
        return False
    in_use = trc_grant.fetch_tpus_in_use(client, [one.zone for one in requests]) if client else None
    now = WallClock().now()
    judgements = [trc_grant.require_coverage(one, grant, in_use, now) for one in requests]
    for one, judgement in zip(requests, judgements, strict=True):
        for note in (f"{one.zone}: {judgement.why}.", *judgement.notes):
            echo_lines(wrap(note))
    return all(judgement.left is not None for judgement in judgements)


def _show_flex_start(one: TpuRequest, project: Project) -> None:
    """Print the Cloud TPU API's flex-start command, which this program does not send itself."""
    command = flex_start.build_command(one, project)
    for note in (tpu_request.FIXED_BOOT_DISK, flex_start.NOT_IN_LEDGER):
        echo_lines(wrap(note))
    click.echo("")
    echo_lines(escape_text(line) for line in wrap(flex_start.describe_command(one)))
    for line in command_lines(command):
        click.echo(escape_text(line))
    click.echo("")
    click.echo("Nothing was sent.")


def _zones(options: CreateOptions, grant: Grant | None) -> list[str]:
    """Return the distinct zones to try: as typed, or else the grant's, or else gcloud's."""
    typed = options.zones
    if not typed and grant:
        tpu = tpu_request.parse_type(options.type_name)
        typed = trc_grant.list_grant_zones(grant, tpu, _tier(options), options.slices)
        # If none of the grant's zones fits, its first one is refused with the reason.
        typed = typed or [row.zone for row in grant.allowances][:1]
    if not typed:
        return [project_and_zone.require_zone(None)]
    return list(dict.fromkeys(tpu_request.validate_zone(zone) for zone in typed))


def _tier(options: CreateOptions) -> Tier:
    if options.flex_start:
        return "flex-start"
    if options.spot:
        return "spot"
    return "reserved" if options.reserved or options.reservation else "on-demand"


def _requests(
    options: CreateOptions, zones: Sequence[str]
) -> tuple[list[TpuRequest], tuple[str, ...]]:
    """Return each zone's request, and the sentences about the API that creates it."""
    tiers = {
        "--spot": options.spot,
        "--reserved": options.reserved or bool(options.reservation),
        "--flex-start": bool(options.flex_start),
    }
    typed = [option for option, is_typed in tiers.items() if is_typed]
    if len(typed) > 1:
        raise Problem(f"give either `{typed[0]}` or `{typed[1]}`, not both", code=ExitCode.USAGE)
    tpu = tpu_request.parse_type(options.type_name)
    is_flex = bool(options.flex_start)
    choices = [
        api_choice.choose_api(tpu, zone, options.api, is_flex_start=is_flex) for zone in zones
    ]
    requests = [
        _request(options, zone, choice.api) for zone, choice in zip(zones, choices, strict=True)
    ]
    for request in requests:
        if request.api == "compute":
            compute_requests.require_supported_request(request)
    return requests, tuple(dict.fromkeys(choice.sentence for choice in choices))


def _request(options: CreateOptions, zone: str, api: Api) -> TpuRequest:
    tpu = tpu_request.parse_type(options.type_name)
    run_s = tpu_request.parse_duration(options.flex_start) if options.flex_start else 0
    return TpuRequest(
        name=tpu_request.validate_tpu_name(options.name),
        type=tpu,
        zone=zone,
        version=_version(options, tpu, api),
        tier=_tier(options),
        slices=options.slices,
        labels=tpu_request.validate_labels(_pairs("--label", options.labels)),
        metadata=_metadata(options),
        data_disks=tuple(map(_disk, options.disks)),
        network=options.network,
        subnetwork=options.subnetwork,
        internal_addresses=options.internal_ips,
        service_account=options.service_account,
        tags=tuple(options.tags),
        reservation=options.reservation,
        valid_until_s=tpu_request.parse_duration(options.valid_until) if options.valid_until else 0,
        api=api,
        run_s=flex_start.validate_run_time(run_s) if run_s else 0,
    )


def _version(options: CreateOptions, tpu: TpuType, api: Api) -> str:
    """Return the runtime version; "" for Compute Engine, which uses other images."""
    if api == "cloud-tpu":
        return options.version or tpu_request.default_runtime_version(tpu)
    if options.version:
        raise Problem(
            f"Compute Engine has no runtime versions, found `--version {options.version}`",
            hint=f"leave it out: the image family is `{tpu.generation.image_family}`",
            code=ExitCode.USAGE,
        )
    return ""


def _pairs(option: str, typed: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in typed:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise Problem(
                f"`{option} {text}` has no key or no value, expected KEY=VALUE", code=ExitCode.USAGE
            )
        pairs[key] = value
    return pairs


def _metadata(options: CreateOptions) -> dict[str, str]:
    values = _pairs("--metadata", options.metadata)
    script = values.pop("startup-script", "")
    if options.startup_script:
        script = _read(options.startup_script)
    if options.libtpu_flags:
        script = tpu_request.add_libtpu_flags(script, options.libtpu_flags)
    return values | ({"startup-script": script} if script else {})


def _read(path: Path) -> str:
    try:
        echo_if_waiting(path)
        return locations.read_user_file(path, MAX_METADATA_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Problem(f"cannot read `{path}`: {why}", code=ExitCode.USAGE) from error


def _disk(typed: str) -> DataDisk:
    source, _, mode = typed.partition(":")
    if source.count("/") != 5 or mode not in ("", "ro", "rw"):
        raise Problem(
            f"`--data-disk {typed}` is not the name of a disk, expected "
            "projects/P/zones/Z/disks/NAME, "
            "and `:ro` after it for a disk that is only read",
            code=ExitCode.USAGE,
        )
    return DataDisk(source, read_only=mode == "ro")


def _say_what_is_special(one: TpuRequest) -> None:
    lines = [*event_text.describe_request(one)]
    if one.reservation and one.api == "cloud-tpu":
        lines.append(
            "gcloud has no option for one reservation by name, so its command below takes any that "
            "the project has."
        )
    if one.api == "cloud-tpu":
        lines.append(tpu_request.FIXED_BOOT_DISK)
    else:
        lines += compute_requests.list_notes(one)
    for line in lines:
        echo_lines(wrap(line))
