"""The live numbers of a slice as text: a line for each host, and the sentence on all of them."""

from __future__ import annotations

from tpustarter.slices.slice_watch import WatchedSlice, WatchedSliceHost
from tpustarter.text.phrases import format_count
from tpustarter.text.terminal import WIDTH, Paint, cut_text, escape_text, paint_nothing, wrap
from tpustarter.watch.watch_text import render_meaning, render_table

NAME_WIDTH = 22
"""Columns of a host's number and name."""


def render_slice(
    seen: WatchedSlice,
    paint: Paint = paint_nothing,
    width: int = WIDTH,
    height: int | None = None,
) -> list[str]:
    """Return the lines of one look at all hosts.

    Args:
        seen: The look.
        paint: Colours a word.
        width: The width of a line.
        height: The most lines; hosts without a problem are left out first. None for all. Reasons
            that are cut in the table are below it where there is room for all of them.
    """
    meaning = render_meaning(seen.situation, paint, width)
    rows = len(seen.hosts) if height is None else max(height - len(meaning) - 4, 1)
    shown, hidden = _choose(seen.hosts, rows)
    devices = [one.document.devices if one.document else () for one in shown]
    names = [_name(one) for one in shown]
    texts = [
        name if group else f"{name} {_reason(one)}"
        for name, group, one in zip(names, devices, shown, strict=True)
    ]
    labels = [cut_text(text, width) for text in texts]
    title = f"{'host':<{NAME_WIDTH}}"
    more = [_describe_hidden(hidden)] if hidden else []
    lines = [
        _title(seen),
        *render_table(devices, width, labels, title),
        *more,
        *([""] if meaning else []),
        *meaning,
    ]
    cut = [one for one, text in zip(shown, texts, strict=True) if len(text) > width]
    reasons = [
        line for one in cut for line in wrap(f"host {one.host}: {_reason(one)}", width=width)
    ]
    has_room = height is None or len(lines) + 1 + len(reasons) <= height
    return [*lines, "", *reasons] if reasons and has_room else lines


def _choose(
    hosts: tuple[WatchedSliceHost, ...], rows: int
) -> tuple[list[WatchedSliceHost], list[WatchedSliceHost]]:
    """Return the hosts to show, in order, and those that are left out."""
    if len(hosts) <= rows:
        return [*hosts], []
    worst = sorted(hosts, key=lambda one: (one.problem is None, _least_duty(one)))
    return sorted(worst[:rows], key=lambda one: one.host), worst[rows:]


def _describe_hidden(hidden: list[WatchedSliceHost]) -> str:
    """Return the line on hosts that are left out, some of which may have a problem, too."""
    count = format_count(len(hidden), "more host")
    has_numbers = all(_least_duty(one) >= 0 for one in hidden)
    return f"{count}, busier than these" if has_numbers else count


def _least_duty(one: WatchedSliceHost) -> float:
    duty = [row.duty_cycle_percent for row in (one.document.devices if one.document else ())]
    return min((value for value in duty if value is not None), default=-1.0)


def _name(one: WatchedSliceHost) -> str:
    chips = one.document.host.chips if one.document else 0
    name = " ".join(filter(None, (f"{one.host:>3}", escape_text(one.name))))
    size = f"  {chips} chips" if chips else ""
    return f"{cut_text(name, NAME_WIDTH - len(size))}{size}".ljust(NAME_WIDTH)


def _reason(one: WatchedSliceHost) -> str:
    if one.problem:
        return escape_text(one.problem)
    if one.document:
        missing = one.document.missing
        return escape_text(missing.text) if missing else "has no numbers"
    return "has not answered yet"


def _title(seen: WatchedSlice) -> str:
    found = [one.document.host for one in seen.hosts if one.document]
    generation = next((one.generation for one in found if one.generation), "")
    kind = f"TPU {escape_text(generation)}" if generation else "TPU"
    chips = sum(one.chips for one in found)
    clock = seen.at.astimezone().strftime("%H:%M:%S")
    listed = [kind, format_count(len(seen.hosts), "host")]
    return ", ".join([*listed, *([format_count(chips, "chip")] if chips else []), clock])
