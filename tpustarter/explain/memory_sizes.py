"""Sizes of memory as the TPU compiler writes them: 20.30G are 20.3 GiB."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?([KMGT])", re.IGNORECASE)
_UNITS = "KMGT"


def format_sizes(values: Mapping[str, str]) -> dict[str, str] | None:
    """Return NEEDED, THERE and OVER in words; None unless more was needed than there was.

    Where enough was free in total, as in fragmented memory, the numbers explain nothing.
    """
    needed = _SIZE.fullmatch(values.get("NEEDED", ""))
    there = _SIZE.fullmatch(values.get("THERE", ""))
    if not needed or not there or not (least := _kib(there)) or _kib(needed) <= least:
        return None
    ratio = _kib(needed) / least
    return {"NEEDED": _shown(needed), "THERE": _shown(there), "OVER": _over(ratio)}


def _over(ratio: float) -> str:
    percent = (ratio - 1) * 100
    if percent < 1:
        return "less than 1 % more than"
    if percent < 10:
        return f"{percent:.0f} % more than"
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def _kib(size: re.Match[str]) -> float:
    return float(size[1]) * 1024 ** _UNITS.index(size[2].upper())


def _shown(size: re.Match[str]) -> str:
    return f"{round(float(size[1]), 2):g} {size[2].upper()}iB"
