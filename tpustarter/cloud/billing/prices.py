"""The dated table of on-demand prices, `prices.yml`, with the source of each row.

A price that no row has is not known, and nothing is concluded from its neighbours.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tpustarter.core import content, locations
from tpustarter.core.problem import Problem
from tpustarter.machine.tpus import TpuType

FILE = Path(__file__).with_name("prices.yml")


@dataclass(frozen=True)
class Price:
    """The on-demand price of a chip of one generation, in some regions."""

    generation: str
    usd_per_chip_hour: float
    regions: tuple[str, ...]
    chips: tuple[int, int]
    """Chips of the smallest and the largest TPU with this price."""
    source: str
    read: date
    """Date on which the source was read."""


@dataclass(frozen=True)
class PriceTable:
    """All prices, and the page that has the others."""

    page: str
    prices: tuple[Price, ...]

    def find(self, tpu: TpuType, zone: str) -> Price | None:
        """Return the price of a TPU in a zone; None where the table has none."""
        region = zone.rpartition("-")[0]
        for row in self.prices:
            low, high = row.chips
            same = row.generation == tpu.generation.name and region in row.regions
            if same and low <= tpu.chips <= high:
                return row
        return None


@functools.cache
def read(file: Path = FILE) -> PriceTable:
    """Return the table; raises Problem for a row that cannot be used."""
    try:
        tables: Any = content.read_yaml(locations.read_text(file))
        sources = tables["sources"]
        rows = tuple(_row(row, sources[row["source"]]) for row in tables["prices"])
        return PriceTable(str(tables["page"]), rows)
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
