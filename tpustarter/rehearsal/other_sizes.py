"""Programs that a check, or a file, gives only to TPUs of another size: why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpustarter.machine import tpus
from tpustarter.terminal import visible


def difference(
    tpu: str, program: str, results: Sequence[Mapping[str, Any]]
) -> tuple[int, int] | None:
    """Return for how many devices a program is, and how many a TPU has that did not get it.

    None where there is an answer, or where the number of devices is not the reason.

    Args:
        tpu: The TPU.
        program: The program.
        results: All of its check, or of its file, in a rehearsal that went to its end.
    """
    of_program = [one for one in results if one["program"] == program]
    if any(one["tpu"] == tpu for one in of_program):
        return None
    if not all("devices" in one for one in results):  # what broke may have cost others their turn
        return None
    needed, count = {int(one["devices"]) for one in of_program}, tpus.topology(tpu).devices
    return (needed.pop(), count) if len(needed) == 1 and needed != {count} else None


def in_words(count: int) -> str:
    """Return a number of devices."""
    return "1 device" if count == 1 else f"{count} devices"


def lines(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return which programs have no answer for which of these TPUs, those of a size together."""
    together: dict[tuple[str, int, int], tuple[list[str], list[str]]] = {}
    for check, program in dict.fromkeys((one["check"], one["program"]) for one in results):
        siblings = [one for one in results if one["check"] == check]
        for tpu in names:
            if sizes := difference(tpu, program, siblings):
                programs, others = together.setdefault((check or "", *sizes), ([], []))
                programs += [program] * (program not in programs)
                others += [tpu] * (tpu not in others)
    return [_line(key, *found) for key, found in together.items()]


def _line(key: tuple[str, int, int], programs: Sequence[str], names: Sequence[str]) -> str:
    check, needed, count = key
    of_check = f"{visible(check.partition('.')[2])}: " if check else ""
    are = "is" if len(programs) == 1 else "are"
    have = "has" if len(names) == 1 else "have"
    which = f"{of_check}{', '.join(map(visible, programs))}"
    return f"{which} {are} for {in_words(needed)}, and {', '.join(names)} {have} {count}"
