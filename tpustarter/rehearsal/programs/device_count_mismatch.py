"""Explanations of missing answers: programs that a check or file lists only for other sizes."""

from __future__ import annotations

from collections.abc import Sequence

from tpustarter.machine import tpus
from tpustarter.rehearsal.result_fields import ResultFields
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text


def find_device_count_mismatch(
    tpu: str, program: str, results: Sequence[ResultFields]
) -> tuple[int, int] | None:
    """Return a program's number of devices, and that of a TPU without an answer for it.

    None if there is an answer, or if the number of devices is not the reason.

    Args:
        tpu: The TPU.
        program: The program.
        results: All results of its check or its file, in a rehearsal that ran to its end.
    """
    of_program = [one for one in results if one["program"] == program]
    if any(one["tpu"] == tpu for one in of_program):
        return None
    if any(one.get("devices") is None for one in results):  # an error may have ended the others
        return None
    needed, count = {one.get("devices", 0) for one in of_program}, tpus.find_topology(tpu).devices
    return (needed.pop(), count) if len(needed) == 1 and needed != {count} else None


def describe_missing_answers(results: Sequence[ResultFields], names: Sequence[str]) -> list[str]:
    """Describe the programs without an answer for some TPUs, a line per pair of device counts."""
    together: dict[tuple[str, int, int], tuple[list[str], list[str]]] = {}
    for check, program in dict.fromkeys((one["check"], one["program"]) for one in results):
        siblings = [one for one in results if one["check"] == check]
        for tpu in names:
            if sizes := find_device_count_mismatch(tpu, program, siblings):
                programs, others = together.setdefault((check or "", *sizes), ([], []))
                programs += [program] * (program not in programs)
                others += [tpu] * (tpu not in others)
    return [_line(key, *found) for key, found in together.items()]


def _line(key: tuple[str, int, int], programs: Sequence[str], names: Sequence[str]) -> str:
    check, needed, count = key
    of_check = f"{escape_text(check.partition('.')[2])}: " if check else ""
    are, have = (
        phrases.choose_plural(len(programs), "is", "are"),
        phrases.choose_plural(len(names), "has", "have"),
    )
    which = f"{of_check}{', '.join(map(escape_text, programs))}"
    devices = phrases.format_count(needed, "device")
    return f"{which} {are} for {devices}, and {', '.join(names)} {have} {count}"
