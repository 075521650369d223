"""The rows and details of TPUs, in which every text from Google is escaped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from textual.content import Content

from tpustarter.checking.plan import interpreters
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.billing import cost
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.text import event_text, slice_drawing
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.explain import known_failures
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word, style_sentence

STYLES = {"good": "pass", "wait": "wait", "act": "warn", "bad": "fail", "unknown": "notrun"}
BOXES = {"#": "■", ".": "□"}
"""The characters of a slice's drawing that the app replaces."""
SIGN_STYLES = {"#": "$pass", "!": "bold $warn"}
_DO = {
    "NOT_SEEN": "Press r in ten minutes, which asks Google again. Until then it may be billed.",
    "NOT_LOOKED": "Press r, which asks Google.",
    "STOPPED": "Press s to start it, which needs free capacity, or d to delete it.",
}
"""Next steps on this screen, for states whose usual next step names a command."""
NEEDS_PROJECT = (
    "A TPU in Google Cloud belongs to a project, and no project is known. If you have one, run "
    "`gcloud config set project PROJECT_ID` in a shell, and press r. If you have none yet, begin "
    "with one of these lessons:"
)
TO_A_PROJECT = {
    "start/ways-to-get-one": "Every way to a TPU, with a project or without one",
    "setup/project-and-access": "Make a project that may use TPUs",
}
"""Lessons for users without a project, with the titles of their rows."""
TO_CREATE = (
    "Press n to ask for a TPU. The form shows the gcloud command as you fill it in, and nothing is "
    "sent before you have typed the name of the TPU."
)


@dataclass(frozen=True)
class KnownTpus:
    """The TPUs of a project as far as they are known, and the time of Google's answer."""

    tpus: tuple[ListedTpu, ...] = ()
    project: Project | None = None
    asked: datetime | None = None
    """The time of Google's answer; None before that."""
    trouble: str = ""
    """The reason why Google has not answered, as the command line shows it."""
    unreachable: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    """Sentences on TPUs that have left the ledger."""
    endpoint: str = ""
    """The server that is queried instead of Google, in tests."""
    unreadable: tuple[Path, ...] = ()
    """Ledgers that can't be read."""
    needs_project: bool = False
    """True if Google could not be asked because no project is known."""

    def find_tpu(self, key: str | None) -> ListedTpu | None:
        """Return the TPU of a row, or None if the row has none."""
        return next((tpu for tpu in self.tpus if make_row_id(tpu) == key), None)


def make_fact_line(name: str, text: str) -> HangingText:
    """Return a fact, as a sentence next to its name."""
    return HangingText(f"{name:<8} ", style_sentence(text))


def make_row_id(tpu: ListedTpu) -> str:
    """Return the id of a TPU's row."""
    return f"{tpu.project}/{tpu.zone}/{tpu.name}"


def make_tpu_rows(seen: KnownTpus, now: datetime) -> Iterator[Row]:
    """Yield the rows of the problems, then those of the TPUs."""
    if seen.needs_project:
        yield Row(None, HangingText("", style_sentence(NEEDS_PROJECT)))
        yield Row(None, "")
        yield from (Row(lesson, title) for lesson, title in TO_A_PROJECT.items())
    for line in seen.trouble.splitlines():
        yield Row(None, HangingText("", style_sentence(line)))
    for path in seen.unreadable:
        shown = interpreters.format_path(path, os.environ)
        text = f"The ledger in {escape_text(shown)} cannot be read."
        do = "TPUs that only it knew may be billed: look for them, then delete that file."
        yield Row(None, HangingText("", f"{text} {do}"))
    if (seen.needs_project or seen.trouble or seen.unreadable) and seen.tpus:
        yield Row(None, "")
    for tpu in seen.tpus:
        yield make_tpu_row(tpu, now)
    if seen.asked and not seen.tpus:
        name = escape_text(seen.project.name) if seen.project else "this project"
        nothing = f"No TPU and no request for one exists in `{name}`, as far as Google lists them."
        yield Row(None, HangingText("", style_sentence(nothing)))
        yield Row(None, "")
    if not seen.tpus and not seen.needs_project:
        yield Row(None, HangingText("", TO_CREATE))


def make_tpu_row(tpu: ListedTpu, now: datetime) -> Row:
    """Return the row of a TPU: its name, type and age, and its state with the meaning."""
    label = Content.styled(escape_text(tpu.name), "bold") + f"  {escape_text(tpu.type)}"
    where = escape_text(event_text.format_type_and_zone(tpu).removeprefix(tpu.type))
    state = status_word(STYLES.get(tpu.state.mark, ""), escape_text(tpu.state.name))
    meaning = Content.styled(escape_text(tpu.state.meaning), "$muted")
    below = HangingText(Content("  ") + state + "  ", meaning)
    return Row(make_row_id(tpu), label, event_text.format_age(tpu, now), (below,), Content(where))


def format_tpu_count(seen: KnownTpus) -> str:
    """Return text such as `3 TPUs, 1 request`, or `Nothing yet`."""
    requests = sum(not tpu.nodes for tpu in seen.tpus)
    tpus = len(seen.tpus) - requests
    counts = ((tpus, "TPU"), (requests, "request"))
    words = [phrases.format_count(number, noun) for number, noun in counts if number]
    return ", ".join(words) or "Nothing yet"


def format_bill_and_leftovers(seen: KnownTpus) -> str:
    """Return the bill and the leftovers in sentences, with the zones that are missing."""
    told: list[str] = [*seen.news]
    chips = sum(tpu.chips for tpu in seen.tpus if tpu.state.billed)
    if not seen.asked:
        count = len(seen.tpus)
        listed = f"this program remembers {phrases.format_count(count, 'TPU')}"
        told.append(
            f"Google has not been asked yet; {listed} that may be billed."
            if count
            else "Google has not been asked yet."
        )
    elif chips:
        told.append(
            f"{phrases.format_count(chips, 'chip is', 'chips are')} billed, or may be, until "
            f"{phrases.choose_plural(chips, 'it is', 'they are')} deleted."
        )
    elif seen.tpus:
        told.append("None of this is billed for chips now.")
    owners = [tpu.owner == "ours" for tpu in seen.tpus if tpu.is_leftover]
    if leftovers := sum(owners):
        told.append(
            phrases.choose_plural(
                leftovers,
                "1 leftover takes up its name and quota. Press l to delete it.",
                f"{leftovers} leftovers take up their names and quota. Press l to delete them.",
            )
        )
    if others := len(owners) - leftovers:
        told.append(
            phrases.choose_plural(
                others,
                "1 leftover may be somebody else's. Mark it and press d to delete it.",
                f"{others} leftovers may be somebody else's. Mark one and press d to delete it.",
            )
        )
    if seen.unreachable:
        told.append(escape_text(event_text.describe_unreachable(seen.unreachable)))
    return " ".join(told)


def describe_tpu(
    tpu: ListedTpu, project: Project | None, now: datetime, *, whole: bool = False
) -> Iterator[LaidOutLines]:
    """Yield the next step for a TPU, its next state, and all facts about it.

    Args:
        tpu: The TPU.
        project: The project whose TPUs are listed.
        now: The current time.
        whole: True if the details are shown without the list, which names the TPU.
    """
    state = tpu.state
    if whole:
        yield make_fact_line("name", _name(tpu, project))
        yield make_fact_line("state", f"{state.name}  {state.meaning}")
    yield make_fact_line("do", _DO.get(state.name, state.do))
    yield from _keys(tpu)
    if tpu.error:
        yield from _describe_error(tpu)
    if state.next or state.usually:
        yield make_fact_line("next", f"{state.next} {state.usually}".strip())
    for sentence in (text for text in event_text.describe_tpu_row(tpu) if text):
        yield make_fact_line("", sentence)
    for node in tpu.nodes:
        yield from _slice(node)
    if state.name in ("ACTIVE", "READY") and tpu.nodes:
        yield make_fact_line("connect", worker_connection.build_login_command(tpu.nodes[0]))
    if tpu.nodes:
        estimates = cost.estimate_costs(tpu.nodes, now, trc_grant.find_grant())
        for estimate in estimates[:1]:
            yield make_fact_line("cost", estimate.words)
    if not whole:
        yield make_fact_line("name", _name(tpu, project))
    for node in tpu.nodes:
        image = f", {node.runtime_version}" if node.runtime_version else ""
        yield make_fact_line("node", f"{node.name}: {node.state}{image}")
        yield from _addresses(node.internal_addresses, node.external_addresses)


def _keys(tpu: ListedTpu) -> Iterator[LaidOutLines]:
    """Yield the keys that use a TPU."""
    if tpu.state.name in ("ACTIVE", "READY") and tpu.nodes:
        yield make_fact_line("job", "Press b to run a program on it that goes on when you leave.")
    if tpu.is_slice:
        yield make_fact_line("check", "Press h to check all of its hosts as one.")


def _slice(node: TpuNode) -> Iterator[LaidOutLines]:
    """Yield the drawing of a slice; words repeat what its colours show."""
    for number, row in enumerate(slice_drawing.align_rows(slice_drawing.draw_slice_rows(node))):
        if not number:
            yield make_fact_line("slice", slice_drawing.describe_slice_hosts(node))
        state = status_word(STYLES.get(row.mark, ""), escape_text(row.words))
        yield HangingText(
            Content(f"{' ' * 9}{row.label}  ") + colour_slice_drawing(row.signs) + "  ", state
        )


def colour_slice_drawing(text: str) -> Content:
    """Return the hosts or chips of a slice, each in the colour of its state."""
    return Content("").join(
        Content.styled(BOXES.get(sign, sign), SIGN_STYLES.get(sign, "$muted")) for sign in text
    )


def _name(tpu: ListedTpu, project: Project | None) -> str:
    is_elsewhere = project is None or tpu.project != project.name
    where = f", in the project {tpu.project}" if is_elsewhere else ""
    return f"{tpu.name}, {event_text.format_type_and_zone(tpu)}{where}"


def _describe_error(tpu: ListedTpu) -> Iterator[LaidOutLines]:
    why, fixes = event_text.describe_error(tpu)
    if why:
        yield make_fact_line("why", why)
    for number, fix in enumerate(fixes[:3]):
        label = "or" if number else "fix"
        yield make_fact_line(label, f"`{fix}`" if known_failures.is_fix_command(fix) else fix)


def _addresses(inside: Sequence[str], outside: Sequence[str]) -> Iterator[LaidOutLines]:
    for worker, address in enumerate(inside):
        external = outside[worker : worker + 1]
        shown = f"{external[0]} from outside" if external else "no external address"
        yield make_fact_line("", f"worker {worker}: {address}, {shown}")
