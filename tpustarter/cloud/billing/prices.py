"""The dated table of on-demand prices, `prices.yml`, with a source for each row.

A price that is in no row is unknown, and is never inferred from others.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec

from tpustarter.cloud.create.tpu_request import find_region
from tpustarter.core import yaml_rows
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text, Texts
from tpustarter.machine.tpus import TpuType

FILE = Path(__file__).with_name("prices.yml")


class _Source(msgspec.Struct):
    url: Text
    read: date


class _Row(msgspec.Struct):
    generation: Text
    usd: Annotated[float, msgspec.Meta(gt=0, lt=1000)]
    regions: Texts
    source: Text
    chips: tuple[int, int] = (1, 1_000_000)


class _PriceFile(msgspec.Struct):
    page: Text
    sources: dict[str, _Source]
    prices: list[_Row]


@dataclass(frozen=True)
class Price:
    """The on-demand price of one generation's chip, in some regions."""

    generation: str
    usd_per_chip_hour: float
    regions: tuple[str, ...]
    chips: tuple[int, int]
    """Number of chips in the smallest and the largest TPU with this price."""
    source: str
    read: date
    """Date the source was read."""


@dataclass(frozen=True)
class PriceTable:
    """All prices, and the page that lists the others."""

    page: str
    prices: tuple[Price, ...]

    def find(self, tpu: TpuType, zone: str) -> Price | None:
        """Return a TPU's price in a zone, or None if the table has none."""
        region = find_region(zone)
        for row in self.prices:
            low, high = row.chips
            same = row.generation == tpu.generation.name and region in row.regions
            if same and low <= tpu.chips <= high:
                return row
        return None


@functools.cache
def read_prices(file: Path = FILE) -> PriceTable:
    """Return the table; raises Problem if a row is invalid."""
    try:
        table = yaml_rows.convert_value(yaml_rows.load_yaml(file), _PriceFile)
        rows = tuple(_price(row, table.sources[row.source]) for row in table.prices)
    except (KeyError, ValueError) as error:
        raise Problem(f"a row of `{file.name}` cannot be used: {error}") from error
    return PriceTable(table.page, rows)


def _price(row: _Row, source: _Source) -> Price:
    return Price(row.generation, row.usd, row.regions, row.chips, source.url, source.read)
