"""A reading as text: a table of devices, who holds them, and the sentence on what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import mean

from tpustarter.learning.drawings.curves import LinePlot, draw_curves
from tpustarter.machine import host
from tpustarter.text.phrases import choose_plural, format_count, format_duration, join_words
from tpustarter.text.terminal import WIDTH, Paint, cut_text, escape_text, paint_nothing, wrap
from tpustarter.watch.reading import DeviceReading, TpuReading
from tpustarter.watch.situations import Situation, find_situation
from tpustarter.watch.watch_history import WatchHistory

GIB = 2.0**30
COLOURS = {"sentence": "cyan", "missing": "yellow"}
LEAST_CURVE_LINES = 7
"""Fewest lines in which curves say something; with less room there are none."""
LEAST_ROWS = 8
"""Fewest lines of the table, if the terminal has room for them."""
LISTED = 3
"""Most processes and links that are listed."""
NO_SDK = (
    "The matrix unit, throttling and links aren't known, because no Python here has libtpu's SDK. "
    "Name one that has it with `--python`."
)


def render_reading(
    reading: TpuReading, problem: str | None, paint: Paint = paint_nothing, width: int = WIDTH
) -> list[str]:
    """Return all lines of a reading.

    Args:
        reading: The reading.
        problem: The reason why libtpu's SDK gave nothing.
        paint: Colours a word.
        width: The width of a line.
    """
    if reading.missing:
        lines = wrap(f"No metrics: {reading.missing.text}.", width=width)
        hint = wrap(f"hint: {reading.missing.hint}", "", " " * 6, width)
        read = _read_lesson(reading.missing.lesson, width)
        told = [paint(line, "missing") for line in lines]
        return [_title(reading), *told, "", *hint, *read, *_holders(reading, width)]
    return [
        _title(reading),
        *render_table([[one] for one in reading.devices], width),
        *_holders(reading, width),
        *_links(reading, width),
        "",
        *render_meaning(find_situation(reading), paint, width),
        *(wrap(problem, "note: ", " " * 6, width) if problem else []),
    ]


def render_frame(
    reading: TpuReading,
    history: WatchHistory,
    problem: str | None,
    size: tuple[int, int],
    paint: Paint = paint_nothing,
    *,
    in_app: bool = False,
) -> list[str]:
    """Return the lines of a live view that fills a terminal of some columns and lines.

    Many devices are shown in groups. The sentence is always there, and the curves take the lines
    that are left. The app names the machine and the lesson's key itself.
    """
    width, height = size
    if reading.missing:
        return render_reading(reading, problem, paint, width)[:height]
    title = [] if in_app else [_title(reading)]
    meaning = render_meaning(find_situation(reading), paint, width, has_lesson=not in_app)
    facts = [*_links(reading, width), *_holders(reading, width)]
    most = height - len(title) - len(meaning) - 1
    rows = max(most - len(facts) - LEAST_CURVE_LINES - 1, min(most, LEAST_ROWS), 1)
    step = -(-len(reading.devices) // rows)
    groups = [reading.devices[at : at + step] for at in range(0, len(reading.devices), step)]
    lines = [*title, *render_table(groups, width)]
    lines += [*facts[: max(height - len(lines) - len(meaning), 0)], *meaning]
    left = height - len(lines) - 1
    if left >= LEAST_CURVE_LINES and (plot := history.plot()):
        lines += ["", *draw_history(plot, width, left)]
    return lines[:height]


def draw_history(plot: LinePlot, width: int, lines: int) -> list[str]:
    """Return the curves of the last minutes, at most some lines high."""
    drawn = draw_curves(plot, width, has_colours=False, height=lines - 1, limits=(0, 100))
    title = f"percent in the last {-min(plot.x):.0f} seconds"
    return [title, *drawn.text.split("\n")[1:lines]]


def _title(reading: TpuReading) -> str:
    kind = f"TPU {reading.generation}" if reading.generation else "TPU"
    chips = f", {format_count(reading.chips, 'chip')}" if reading.chips else ""
    clock = reading.at.astimezone().strftime("%H:%M:%S")
    return f"{kind}{chips}, {clock}"


Group = Sequence[DeviceReading]
Column = tuple[str, Callable[[DeviceReading], float | None], str]


def _throttled(one: DeviceReading) -> float | None:
    return None if one.throttle_score is None else 10 * one.throttle_score


_COLUMNS: tuple[Column, ...] = (
    ("memory", lambda one: one.memory_percent, "{:.0f} %"),
    ("duty", lambda one: one.duty_cycle_percent, "{:.0f} %"),
    ("matrix unit", lambda one: one.matrix_unit_percent, "{:.0f} %"),
    ("bandwidth", lambda one: one.memory_bandwidth_percent, "{:.0f} %"),
    ("throttled", _throttled, "{:.0f} %"),
)


def _range(values: Sequence[float], form: str) -> str:
    low, high = form.format(min(values)), form.format(max(values))
    return high if low == high else f"{low.removesuffix(' %')}-{high}"


def render_table(
    groups: Sequence[Group], width: int, labels: Sequence[str] = (), title: str = "device"
) -> Iterator[str]:
    """Yield a line for each group, with the columns that are known and have room.

    Args:
        groups: Devices by line; a line without devices has its label alone.
        width: The width of a line.
        labels: The beginning of each line, all as wide as the title; none for the devices' numbers.
        title: The title of that column.
    """
    head = [title, f"{'HBM used':>16}"]
    shown = list[Column]()
    for name, value, form in _COLUMNS:
        is_known = any(value(one) is not None for group in groups for one in group)
        if is_known and len(" ".join([*head, f"{name:>8}"])) <= width:
            head.append(f"{name:>8}")
            shown.append((name, value, form))
    yield " ".join(head)
    for number, group in enumerate(groups):
        if not group:
            yield labels[number]
            continue
        first, last = group[0].device, group[-1].device
        place = str(first) if first == last else f"{first}-{last}"
        cells = [labels[number] if labels else f"{place:>6}", f"{_memory(group):>16}"]
        for name, value, form in shown:
            values = [one for one in map(value, group) if one is not None]
            cells.append(f"{_range(values, form) if values else '?':>{max(len(name), 8)}}")
        yield " ".join(cells)


def _memory(group: Group) -> str:
    used = [one.memory_used_bytes for one in group if one.memory_used_bytes is not None]
    total = [one.memory_total_bytes for one in group if one.memory_total_bytes]
    if not used:
        return "?"
    of = f" of {mean(total) / GIB:.1f}" if total else ""
    return f"{mean(used) / GIB:.1f}{of} GiB"


def _holders(reading: TpuReading, width: int) -> list[str]:
    processes = reading.processes
    lines = [cut_text(_holder(one), width) for one in processes[:LISTED]]
    more = len(processes) - LISTED
    return [*lines, *([f"held by {more} more"] if more > 0 else [])]


def _holder(process: host.TpuProcess) -> str:
    age = f", {format_duration(process.age_s)}" if process.age_s is not None else ""
    nodes = join_words(process.nodes, most=2)
    return escape_text(
        f"held by pid {process.pid} ({process.user}{age}): {process.command}; {nodes}"
    )


def _links(reading: TpuReading, width: int) -> list[str]:
    if not reading.links:
        return []
    bad = sorted((one for one in reading.links if one.problem), key=lambda one: -one.problem)
    count = format_count(len(reading.links), "link")
    if not bad:
        return [f"{count}, all healthy"]
    named = join_words((f"{one.name} ({one.problem} of 10)" for one in bad), most=LISTED)
    have = choose_plural(len(bad), "has a problem", "have problems")
    return [cut_text(escape_text(f"{len(bad)} of {count} {have}: {named}"), width)]


def render_meaning(
    situation: Situation | None, paint: Paint, width: int, *, has_lesson: bool = True
) -> list[str]:
    """Return a situation's sentence, what to do about it, and its lesson."""
    if situation is None:
        return []
    text = escape_text(situation.sentence)  # libtpu, or another host, has written a part of it
    sentence = [paint(line, "sentence") for line in wrap(text, width=width)]
    todo = wrap(escape_text(situation.todo), width=width)
    return [*sentence, *todo, *(_read_lesson(situation.lesson, width) if has_lesson else [])]


def _read_lesson(lesson: str, width: int) -> list[str]:
    return wrap(f"read: `tpustarter learn {escape_text(lesson)}`", hang=" " * 6, width=width)
