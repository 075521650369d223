"""The API that creates a TPU, the Cloud TPU API or Compute Engine, as `apis.yml` decides.

Each row of the file cites its sources. The user may choose the other API where both can create the
TPU.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from tpustarter.cloud.api.resources import Api
from tpustarter.core import yaml_rows
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.yaml_rows import Text, Texts
from tpustarter.machine.tpus import TpuType
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text

FILE = Path(__file__).with_name("apis.yml")
TITLES: dict[Api, str] = {"cloud-tpu": "the Cloud TPU API", "compute": "Compute Engine"}


class GenerationApis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The APIs that create TPUs of one generation, and the settings Compute Engine requires."""

    apis: Annotated[tuple[Api, ...], msgspec.Meta(min_length=1)]
    why: Text
    """The reason for preferring the first API, as a clause."""
    sources: Texts
    zones: Mapping[str, tuple[Api, ...]] = {}
    boot_disk_type: str = ""
    """Boot disk type, where Compute Engine's default is not supported."""
    tpu_family: str = ""
    """The generation's name in Compute Engine's quotas."""
    flex_start: tuple[str, ...] = ()
    """Zones in which the Cloud TPU API offers flex-start."""


@dataclass(frozen=True)
class ApiChoice:
    """The API that creates a TPU, and the reason as a sentence."""

    api: Api
    sentence: str


@functools.cache
def read_generation_apis() -> dict[str, GenerationApis]:
    """Return the rows by generation; raises Problem if a row is invalid."""
    return yaml_rows.read_table(FILE, GenerationApis)


def list_creating_apis(tpu: TpuType, zone: str = "") -> tuple[Api, ...]:
    """Return the APIs that create a TPU in a zone, preferred first; empty if none is known."""
    row = read_generation_apis().get(tpu.generation.name)
    return row.zones.get(zone, row.apis) if row else ()


def choose_api(
    tpu: TpuType, zone: str, typed: Api | None = None, *, is_flex_start: bool = False
) -> ApiChoice:
    """Return the API that creates a TPU in a zone.

    Args:
        tpu: The TPU type.
        zone: The zone to create it in.
        typed: The API that the user named.
        is_flex_start: True if flex-start is requested. Google's Python client for the Cloud TPU API
            does not support it, so Compute Engine is preferred.

    Raises:
        Problem: No API is known to create the TPU, or `typed` does not.
    """
    apis = list_creating_apis(tpu, zone)
    if not apis:
        raise Problem(
            f"nothing is published about how {tpu.generation.title} is created",
            hint=f"read {tpu.generation.source}",
            code=ExitCode.USAGE,
        )
    row = read_generation_apis()[tpu.generation.name]
    if typed and typed not in apis:
        raise Problem(
            f"{TITLES[typed]} does not make {tpu.name}: found `--api {typed}`, expected "
            f"`--api {apis[0]}` or no `--api`",
            hint=f"read {row.sources[0]}",
            code=ExitCode.USAGE,
        )
    if typed:
        return ApiChoice(typed, f"{_capital(TITLES[typed])} makes it, as `--api {typed}` says.")
    if is_flex_start and "compute" in apis:
        sentence = "Compute Engine makes it, because only its flex-start can be followed from here."
        return ApiChoice("compute", sentence)
    others = [f"; `--api {api}` takes {TITLES[api]}" for api in apis[1:]]
    force = "".join(others)
    return ApiChoice(apis[0], f"{_capital(TITLES[apis[0]])} makes it: {row.why}{force}.")


def make_ambiguity_problem(
    name: str, places: Iterable[tuple[str, Api]], *, takes_api: bool = False
) -> Problem:
    """Return the Problem for a name that exists in several zones, or twice in one.

    Args:
        name: The name of TPUs or requests.
        places: The zone and API of each.
        takes_api: True if the command has `--api`.
    """
    known, shown = sorted({*places}), escape_text(name)
    zones = list(dict.fromkeys(zone for zone, _ in known))
    if len(zones) > 1:
        what = f"`{shown}` exists in {len(zones)} zones: {', '.join(zones)}"
        hint = "add `--zone ZONE` with the zone of the one that you mean"
    else:
        apis = phrases.join_words([TITLES[api] for _, api in known])
        what = f"`{shown}` exists twice in {zones[0]}: {apis} have made one each"
        hint = "add `--api cloud-tpu` or `--api compute` for the one that you mean"
        if not takes_api:
            hint = (
                f"delete the one that you don't need: `tpustarter tpu delete {shown} --zone "
                f"{zones[0]} --api compute`, or the same with `--api cloud-tpu`"
            )
    return Problem(what, hint=hint, code=ExitCode.USAGE)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
