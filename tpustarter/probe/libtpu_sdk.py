"""Prints the metrics of libtpu's SDK repeatedly, until its parent process ends it.

    python libtpu_sdk.py SECONDS METRIC[,ALIAS...] ...

Standard library and libtpu only. Each metric is one or more lines of JSON, and a line with `round`
follows the last one. The SDK asks services on this host over TCP; a test has seen that it opens no
device node and no lock file.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

CHUNK = 20
"""Most values in a line."""
CHARACTERS = 60
MOST = 512
"""Most values of a metric: a host has at most 8 chips, with 6 links each."""


def main() -> None:
    """Print a round of metrics after each pause."""
    pause_s, names = float(sys.argv[1]), sys.argv[2:]
    sdk: Any = importlib.import_module("libtpu.sdk")
    monitoring: Any = getattr(sdk, "tpumonitoring", None) or sdk.monitoring
    number = 0
    while True:
        number += 1
        for aliases in names:
            values = _read(monitoring, aliases.split(","))
            for start in range(0, len(values), CHUNK):
                _print({"metric": aliases, "values": values[start : start + CHUNK]})
        _print({"round": number})
        time.sleep(pause_s)


def _read(monitoring: Any, aliases: list[str]) -> list[str]:
    for alias in aliases:
        try:
            values = [str(value)[:CHARACTERS] for value in monitoring.get_metric(alias).data()]
        except Exception:  # noqa: BLE001, S112  a libtpu without this name raises what it likes
            continue
        if values:
            return values[:MOST]
    return []


def _print(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
