"""A grant of the TPU Research Cloud (TRC): its lines, and the check of requests against it.

Everything is counted in chips. Only the zones, generations, numbers of chips, tiers, first day and
number of days from the e-mail are stored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.cloud_client import ONE_API
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import Tier, list_unreachable
from tpustarter.cloud.billing import chips
from tpustarter.cloud.billing.chips import Resource
from tpustarter.cloud.create.tpu_request import TpuRequest, validate_zone
from tpustarter.core import locations, state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType
from tpustarter.text import phrases

STATE = "trc"
MOST_CHIPS = 1_000_000
MOST_ALLOWANCES = 200
MOST_DAYS = 3660
FIRST_START, LAST_START = date(2000, 1, 1), date(2999, 12, 31)
SOON_DAYS = 7
"""Number of days before a grant's end at which a note first mentions it."""

Reason = Literal[
    "covered", "begins-later", "ended", "api", "zone", "generation", "tier", "size", "chips"
]
TIERS: dict[Tier, str] = {
    "spot": "spot",
    "on-demand": "on demand",
    "reserved": "reserved",
    "flex-start": "flex-start",
}
"""Each tier in words."""


class GrantAllowance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grant's line: a number of chips of one generation, in one tier and zone."""

    generation: str
    """Short name, such as `v5e`."""
    chips: Annotated[int, Meta(gt=0, le=MOST_CHIPS)]
    tier: Tier
    zone: str
    device: str = ""
    """`v2-8` if the line counts devices of this type, as older e-mails do; empty otherwise."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return generation, tier, zone and device type, which together are unique in a grant."""
        return (self.generation, self.tier, self.zone, self.device)


@dataclass(frozen=True)
class Grant:
    """The TPUs that TRC lets one project use free of charge."""

    allowances: Annotated[
        tuple[GrantAllowance, ...], Meta(min_length=1, max_length=MOST_ALLOWANCES)
    ]
    start: date | None = None
    """First day; None if unknown."""
    days: Annotated[int, Meta(gt=0, le=MOST_DAYS)] | None = None
    """Number of days; None if unknown."""

    @property
    def end(self) -> date | None:
        """Return the first day after the grant, or None if it is unknown."""
        if self.start is None or self.days is None:
            return None
        return self.start + timedelta(days=self.days)


@dataclass(frozen=True)
class GrantJudgement:
    """The judgement whether a grant covers a request, with the reason if it does not."""

    reason: Reason
    why: str
    """A sentence, lowercase and without a full stop."""
    left: int | None = None
    """Chips left before this request; None if the number of chips in use is unknown."""
    notes: tuple[str, ...] = ()
    """Further facts for the user, as sentences."""

    @property
    def is_free(self) -> bool:
        """True if the grant covers the request, whose chips then cost nothing."""
        return self.reason == "covered"


def judge_request(
    request: TpuRequest, grant: Grant, in_use: Sequence[Resource] | None, now: datetime
) -> GrantJudgement:
    """Judge whether a grant covers a request; if not, the result has the reason.

    `in_use` has the project's resources; None if they are unknown.
    """
    today = now.astimezone(timezone.utc).date()
    if grant.start and today < grant.start:
        return GrantJudgement("begins-later", f"the grant begins on {grant.start}")
    if grant.end and today >= grant.end:
        return GrantJudgement("ended", f"the grant ended on {grant.end}")
    if request.api != "cloud-tpu":
        why = "its quota is that of the Cloud TPU API, and Compute Engine makes this TPU"
        return GrantJudgement("api", why)
    matching, refusal = _matching(request, grant)
    if refusal:
        return refusal
    granted = sum(allowance.chips for allowance in matching)
    used = None if in_use is None else count_chips_in_use(in_use, matching)
    left = None if used is None else max(0, granted - used)
    if request.chips > (granted if left is None else left):
        of_them = f" {left} of" if left is not None and left < granted else ""
        asked = phrases.format_count(request.chips, "chip is", "chips are")
        verb = "left" if of_them else "in it for this"
        return GrantJudgement(
            "chips", f"{asked} asked for, and{of_them} {granted} are {verb}", left
        )
    notes = [*_notes(request, grant, today)]
    if left is None:
        notes.insert(
            0,
            "How many chips are in use is not known, so those that are left were "
            f"not counted. The grant has {granted}.",
        )
    condition = " if enough of them are left" if left is None else ""
    return GrantJudgement(
        "covered", f"the TRC grant covers its chips{condition}", left, tuple(notes)
    )


def fetch_tpus_in_use(client: ProjectClient, zones: Sequence[str]) -> list[Resource] | None:
    """Return the TPUs that may use a grant's chips, or None if Google did not say for a zone."""
    try:
        queued, nodes = client.of("cloud-tpu").resources()
    except CloudProblem as problem:
        if problem.kind not in ONE_API:
            raise
        return None
    silent = list_unreachable(queued, nodes)
    is_whole = not any(zone.startswith(silent) for zone in zones)
    return [*queued.items, *nodes.items] if is_whole else None


def _matching(
    request: TpuRequest, grant: Grant
) -> tuple[list[GrantAllowance], GrantJudgement | None]:
    """Return the lines that apply to a request, and the reason if there are none."""
    name = request.type.generation.name
    same = [row for row in grant.allowances if row.generation == name]
    here = [row for row in grant.allowances if row.zone == request.zone]
    both = [row for row in same if row.zone == request.zone]
    if not here:
        zones = phrases.join_words(dict.fromkeys(row.zone for row in same))
        others = f"; for {name} it names {zones}" if zones else f", nor {name} anywhere"
        return [], GrantJudgement(
            "zone", f"the grant does not name the zone {request.zone}{others}"
        )
    if not both:
        names = phrases.join_words(dict.fromkeys(row.generation for row in here))
        why = f"in {request.zone} the grant covers {names} and not {name}"
        return [], GrantJudgement("generation", why)
    rows = [row for row in both if row.tier == request.tier]
    if not rows:
        granted = phrases.join_words(dict.fromkeys(TIERS[row.tier] for row in both))
        why = f"the grant covers {name} in {request.zone} {granted}, and this is "
        return [], GrantJudgement("tier", why + TIERS[request.tier])
    fitting = [row for row in rows if row.device in ("", request.type.name)]
    if not fitting:
        devices = phrases.join_words([row.device for row in rows])
        why = f"the grant counts devices of type {devices}, and {request.type.name} is another"
        return [], GrantJudgement("size", why)
    return fitting, None


def _notes(request: TpuRequest, grant: Grant, today: date) -> list[str]:
    notes: list[str] = []
    if request.type.generation.name == "v5e" and request.type.chips <= 8:
        notes.append(
            "Participants reported in 2026 that v5e of 1, 4 and 8 chips counts against a quota "
            "for serving, which a grant may not have raised. The smallest for training has 16."
        )
    if grant.end is None:
        notes.append(
            "When the grant ends is not known: `tpustarter trc --start DAY --days N` notes it."
        )
    elif (grant.end - today).days <= SOON_DAYS:
        notes.append(f"The grant ends on {grant.end}, and what runs then is billed.")
    return notes


def count_chips_in_use(
    resources: Sequence[Resource], allowances: Sequence[GrantAllowance]
) -> int | None:
    """Return how many chips are in use or requested under some lines, or None if unknown."""
    total = 0
    for row in chips.select_resources_in_quota(resources):
        if not (resource_states.find_state_meaning(row).held and _may_be_under(row, allowances)):
            continue
        number = chips.count_resource_chips(row)
        if number is None:
            return None
        total += number
    return total


def _may_be_under(resource: Resource, allowances: Sequence[GrantAllowance]) -> bool:
    """Return whether a line may cover a resource. If its type is unknown, zone and tier decide."""
    tpu = chips.find_resource_type(resource)
    return any(
        resource.zone == row.zone
        and resource.tier == row.tier
        and (tpu is None or tpu.generation.name == row.generation)
        and (tpu is None or row.device in ("", tpu.name))
        for row in allowances
    )


def is_resource_covered(grant: Grant, resource: Resource) -> bool:
    """Return whether a line of the grant covers an existing resource, whatever the date."""
    known = chips.find_resource_type(resource) is not None
    return known and _may_be_under(resource, grant.allowances)


def list_grant_zones(grant: Grant, tpu: TpuType, tier: Tier, slices: int = 1) -> tuple[str, ...]:
    """Return the grant's zones with enough chips for a TPU, in the grant's order."""
    wanted = tpu.chips * slices
    enough: dict[str, int] = {}
    for row in grant.allowances:
        fits = row.device in ("", tpu.name)
        if row.generation == tpu.generation.name and row.tier == tier and fits:
            enough[row.zone] = enough.get(row.zone, 0) + row.chips
    return tuple(zone for zone, number in enough.items() if number >= wanted)


def require_coverage(
    request: TpuRequest, grant: Grant, in_use: Sequence[Resource] | None, now: datetime
) -> GrantJudgement:
    """Return the judgement of a covered request; raises Problem for any other."""
    judgement = judge_request(request, grant, in_use, now)
    if judgement.is_free:
        return judgement
    elsewhere = [
        zone
        for zone in list_grant_zones(grant, request.type, request.tier, request.slices)
        if zone != request.zone and judgement.reason in ("zone", "generation", "chips")
    ]
    other = f"take {phrases.join_words(elsewhere, 'or')}, or " if elsewhere else ""
    raise Problem(
        f"the TRC grant does not cover `{request.name}`, so Google would bill it: {judgement.why}",
        hint=f"{other}add `--outside-grant` to pay for it; `tpustarter trc` shows the grant",
        read="start/trc-to-first-vm",
        code=ExitCode.USAGE,
    )


def parse_allow_option(text: str) -> GrantAllowance:
    """Parse a grant line such as `v6e:64:spot:us-east1-d`; raises Problem if it is invalid."""
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 4:
        raise _no_allowance(text, f"it has {len(parts)} of 4 parts")
    name, number, typed, zone = parts
    tier: Tier | None = next((one for one in TIERS if one == typed.casefold()), None)
    if tier is None:
        raise _no_allowance(text, f"`{typed[:40]}` is not a tier")
    return make_grant_allowance(name, number, tier, zone.casefold())


def _no_allowance(text: str, why: str) -> Problem:
    return Problem(
        f"`{text[:80]}` is not a line of a grant: {why}, expected GENERATION:CHIPS:TIER:ZONE",
        hint="for example `--allow v6e:64:spot:us-east1-d`; TIER is spot or on-demand",
        code=ExitCode.USAGE,
    )


def make_grant_allowance(name: str, number: str, tier: Tier, zone: str) -> GrantAllowance:
    """Return a line of a grant, in chips; raises Problem for an impossible TPU, zone or number.

    `name` is a generation such as `v6e`, or a type such as `v2-8`, whose devices are counted.
    `number` is that of the chips or devices, with or without commas.
    """
    digits = number.replace(",", "")
    count = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 8 else 0
    device = ""
    try:
        row = tpus.find_generation(name)
    except LookupError:
        try:
            tpu = tpus.parse_type(name)
        except LookupError as error:
            raise Problem(str(error.args[0]), code=ExitCode.USAGE) from error
        row, device, count = tpu.generation, tpu.name, count * tpu.chips
    if not 0 < count <= MOST_CHIPS:
        raise Problem(
            f"`{number[:40]}` is not a number of chips, expected 1 to {MOST_CHIPS:,}",
            code=ExitCode.USAGE,
        )
    return GrantAllowance(row.name, count, tier, validate_zone(zone), device)


def save_grant(grant: Grant) -> None:
    """Save a grant, replacing any earlier one; an unreadable file is moved aside first.

    Raises:
        Problem: Its first day is out of range, or it cannot be written.
    """
    if grant.start and not FIRST_START <= grant.start <= LAST_START:
        raise Problem(
            f"found `{grant.start}` as the first day of the grant, expected one from "
            f"{FIRST_START} to {LAST_START}",
            hint="give it with `--start DAY`, such as `--start 2026-11-03`",
            code=ExitCode.USAGE,
        )
    with contextlib.suppress(OSError):  # the write below reports the reason
        if is_grant_unreadable():
            state.move_damaged_file(STATE)
    state.save_state(STATE, msgspec.to_builtins(grant))


def load_grant() -> Grant | None:
    """Return the stored grant, or None if there is none.

    Raises:
        Problem: It cannot be read, so it is unknown which requests it would refuse.
    """
    try:
        saved = state.read_state_strictly(STATE)
    except state.UnreadableError as error:
        raise _unreadable(error.why) from error
    if saved is None:
        return None
    if (grant := _read(saved)) is None:
        raise _unreadable("it has no lines of a grant, or some that cannot be")
    return grant


def find_grant() -> Grant | None:
    """Return the grant for an estimate, or None if there is none or it cannot be read."""
    with contextlib.suppress(Problem):
        return load_grant()
    return None


def is_grant_unreadable() -> bool:
    """Return whether a stored grant cannot be read."""
    try:
        load_grant()
    except Problem:
        return True
    return False


def _unreadable(why: str) -> Problem:
    return Problem(
        f"the TRC grant that you had noted in `{state.find_state_path(STATE)}` "
        f"cannot be read: {why}",
        hint="`tpustarter trc FILE` notes it anew from its e-mail, `tpustarter trc --forget` "
        "forgets it, and `tpustarter tpu create` with `--outside-grant` asks for what is billed",
        read="start/trc-to-first-vm",
    )


def _read(saved: dict[str, object]) -> Grant | None:
    try:
        grant = msgspec.convert(saved, Grant)
        is_whole = {"start", "days"} <= saved.keys() and (grant.end is None or grant.end)
    except (OverflowError, ValueError):
        return None
    return grant if is_whole else None


def delete_grant() -> bool:
    """Delete the stored grant; return whether there was one.

    Raises:
        Problem: It cannot be deleted.
    """
    file = state.prepare_state_path(STATE)
    with locations.convert_write_errors(file):
        if is_grant_unreadable():
            state.move_damaged_file(STATE)
            return True
        existed = file.exists()
        file.unlink(missing_ok=True)
    return existed
