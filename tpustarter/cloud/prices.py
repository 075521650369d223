"""The dated table of on-demand prices, `prices.yml`: each row has the page that it is from.

A price that no row has is not known, and nothing is concluded from its neighbours.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tpustarter import content, locations
from tpustarter.machine.tpus import TpuType
from tpustarter.problem import Problem

FILE = Path(__file__).with_name("prices.yml")


@dataclass(frozen=True)
class Price:
    """What a chip of a generation costs on demand, in some regions."""

    generation: str
    usd_per_chip_hour: float
    regions: tuple[str, ...]
    chips: tuple[int, int]
    """The smallest and the largest TPU that it holds for, in chips."""
    source: str
    read: date
    """When the source was read."""


@dataclass(frozen=True)
class Table:
    """All prices, and the page on which to look one up."""

    page: str
    prices: tuple[Price, ...]

    def find(self, tpu: TpuType, zone: str) -> Price | None:
        """Return the price of a TPU in a zone; null where the table has none."""
        region = zone.rpartition("-")[0]
        for row in self.prices:
            low, high = row.chips
            same = row.generation == tpu.generation.name and region in row.regions
            if same and low <= tpu.chips <= high:
                return row
        return None


@functools.cache
def read(file: Path = FILE) -> Table:
    """Return the table; raises Problem for a row that cannot be used."""
    try:
        tables: Any = content.read_yaml(locations.read_text(file))
        sources = tables["sources"]
        rows = tuple(_row(row, sources[row["source"]]) for row in tables["prices"])
        return Table(str(tables["page"]), rows)
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise Problem(f"a row of `{file.name}` cannot be used: {error}") from error


def _row(row: Any, source: Any) -> Price:
    low, high = row.get("chips", (1, 1_000_000))
    read_on: Any = source["read"]
    price = Price(
        generation=str(row["generation"]),
        usd_per_chip_hour=float(row["usd"]),
        regions=tuple(map(str, row["regions"])),
        chips=(int(low), int(high)),
        source=str(source["url"]),
        read=read_on,
    )
    if not (0 < price.usd_per_chip_hour < 1000 and price.regions and isinstance(read_on, date)):
        raise ValueError(f"the price of {price.generation} is not as documented")
    return price
