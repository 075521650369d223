"""The rows of a slice's hosts, and the details of one host."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from tpustarter.checking.machine_check import HostState, HostStateChanged
from tpustarter.checking.results.results import SliceHostFields
from tpustarter.slices.host_states import describe_host
from tpustarter.slices.starting.launch_request import HostCommand
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word

PREFIX = "host:"
"""The prefix of a host's row id; check ids contain no colon."""
_WORDS: dict[HostState, tuple[str, str]] = {
    "connecting": ("wait", "wait"),
    "looking": ("run", "RUN"),
    "waiting": ("wait", "wait"),
    "arrived": ("done", "here"),
    "running": ("run", "RUN"),
    "missing": ("fail", "MISSING"),
    "ended": ("done", "ended"),
}
"""The style and the word of each state."""


def make_host_row(seen: HostStateChanged) -> Row:
    """Return a host's row, with its number, name and activity."""
    style, word = _WORDS[seen.state]
    is_bad = seen.state == "ended" and seen.detail
    label = status_word("error" if is_bad else style, word, 8)
    name = f"host {seen.host:<3} " + (f"{escape_text(seen.name)}  " if seen.name else "")
    text = label + name
    return Row(
        f"{PREFIX}{seen.host}",
        text + Content(escape_text(describe_host(seen))),
        hang=text.cell_length,
    )


def describe_host_details(
    seen: HostStateChanged, facts: SliceHostFields | None, command: HostCommand | None = None
) -> Iterator[LaidOutLines | Content]:
    """Yield everything known about a host.

    Args:
        seen: The host's state.
        facts: Its entry in the run's `hosts`, or None until it has arrived.
        command: The command that starts it, or None to leave it out.
    """
    name = f"Host {seen.host}" + (f", {seen.name}" if seen.name else "")
    yield Content.styled(escape_text(name), "bold")
    yield HangingText("state     ", escape_text(f"It {describe_host(seen)}."))
    if facts:
        yield HangingText("name      ", escape_text(str(facts["name"])))
        versions = [f"{name} {version}" for name, version in facts["frameworks"].items()]
        python = f"Python {facts['python_version']}"
        yield HangingText("versions  ", escape_text(", ".join([python, *versions])))
        counts = [
            f"{facts[one]} {one}" for one in ("chips", "devices") if facts.get(one) is not None
        ]
        if counts:
            yield HangingText("sees      ", escape_text(", ".join(counts)))
        for one in facts["differs"]:
            found = f"{one['name']} is {one['found']}, expected {one['expected']}"
            yield HangingText("differs   ", escape_text(found))
    if command:
        yield HangingText("command   ", escape_text(command.text), is_typed=False)
