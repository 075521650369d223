"""TPUs as rows of a list and as details below it; every text of Google's is made safe here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from textual.content import Content

from tpustarter.checking import interpreters
from tpustarter.cloud import cost, drawing, grants, words
from tpustarter.cloud.overview import Row as Tpu
from tpustarter.cloud.places import Project
from tpustarter.cloud.resources import Node
from tpustarter.explain import known
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, Lines, prose, word
from tpustarter.tui.widgets import Row

STYLES = {"good": "pass", "wait": "wait", "act": "warn", "bad": "fail", "unknown": "notrun"}
BOXES = {"#": "■", ".": "□"}
"""What stands for a sign of `drawing` here; the others are seen best as they are."""
SIGN_STYLES = {"#": "$pass", "!": "bold $warn"}
_DO = {
    "NOT_SEEN": "Press r in ten minutes, which asks Google again. Until then it may be billed.",
    "NOT_LOOKED": "Press r, which asks Google.",
    "STOPPED": "Press s to start it, which needs free capacity, or d to delete it.",
}
"""What to do on the screen, where the sentence of the command line names a command."""
NEEDS_PROJECT = (
    "A TPU in Google Cloud belongs to a project, and no project is known. If you have one, run "
    "`gcloud config set project PROJECT_ID` in a shell, and press r. If you have none yet, begin "
    "with one of these lessons:"
)
TO_A_PROJECT = {
    "start/ways-to-get-one": "Every way to a TPU, with a project or without one",
    "setup/project-and-access": "Make a project that may use TPUs",
}
"""Lessons for those who have no project, and what each is called here."""
TO_CREATE = (
    "Press n to ask for a TPU. The form shows the gcloud command as you fill it in, and nothing is "
    "sent before you have typed the name of the TPU."
)


@dataclass(frozen=True)
class Seen:
    """What is known of the TPUs, and since when."""

    tpus: tuple[Tpu, ...] = ()
    project: Project | None = None
    asked: datetime | None = None
    """When Google answered; null where it has not."""
    trouble: str = ""
    """Why Google has not answered, as the command line says it."""
    unreachable: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    """What the ledger has let go, in sentences."""
    endpoint: str = ""
    """What is asked in place of Google, in tests."""
    put_aside: tuple[Path, ...] = ()
    """Ledgers that cannot be read."""
    needs_project: bool = False
    """Whether Google could not be asked because no project is known."""

    def of(self, key: str | None) -> Tpu | None:
        """Return the TPU of a row."""
        return next((tpu for tpu in self.tpus if key_of(tpu) == key), None)


def key_of(tpu: Tpu) -> str:
    """Return the id of a TPU's row."""
    return f"{tpu.project}/{tpu.zone}/{tpu.name}"


def rows_of(seen: Seen, now: datetime) -> Iterator[Row]:
    """Yield what went wrong, and then the TPUs: first those that want something of the user."""
    if seen.needs_project:
        yield Row(None, Hanging("", prose(NEEDS_PROJECT)))
        yield Row(None, "")
        yield from (Row(lesson, title) for lesson, title in TO_A_PROJECT.items())
    for line in seen.trouble.splitlines():
        yield Row(None, Hanging("", prose(line)))
    for path in seen.put_aside:
        shown = interpreters.shown(path, os.environ)
        text = f"A ledger that could not be read was put aside as {visible(shown)}."
        do = "TPUs that only it knew may be billed: look for them, then delete that file."
        yield Row(None, Hanging("", f"{text} {do}"))
    if (seen.needs_project or seen.trouble or seen.put_aside) and seen.tpus:
        yield Row(None, "")
    for tpu in seen.tpus:
        yield row_of(tpu, now)
    if seen.asked and not seen.tpus:
        name = visible(seen.project.name) if seen.project else "this project"
        nothing = f"No TPU and no request for one exists in `{name}`, as far as Google lists them."
        yield Row(None, Hanging("", prose(nothing)))
        yield Row(None, "")
    if not seen.tpus and not seen.needs_project:
        yield Row(None, Hanging("", TO_CREATE))


def row_of(tpu: Tpu, now: datetime) -> Row:
    """Return the row of a TPU: what it is and its age, its state and what that means."""
    label = Content.styled(visible(tpu.name), "bold") + f"  {visible(tpu.type)}"
    where = visible(words.place(tpu).removeprefix(tpu.type))
    state = word(STYLES.get(tpu.state.mark, ""), visible(tpu.state.name))
    meaning = Content.styled(visible(tpu.state.meaning), "$muted")
    below = Hanging(Content("  ") + state + "  ", meaning)
    return Row(key_of(tpu), label, words.age(tpu, now), (below,), Content(where))


def count(seen: Seen) -> str:
    """Return how many TPUs and requests there are."""
    requests = sum(not tpu.nodes for tpu in seen.tpus)
    tpus = len(seen.tpus) - requests
    words = [f"{tpus} TPU{'s' * (tpus > 1)}" if tpus else "",
             f"{requests} request{'s' * (requests > 1)}" if requests else ""]  # fmt: skip
    return ", ".join(filter(None, words)) or "Nothing yet"


def summary(seen: Seen) -> str:
    """Return the whole truth in a sentence or two, and what is known to be missing from it."""
    told: list[str] = [*seen.news]
    chips = sum(tpu.chips for tpu in seen.tpus if tpu.state.billed)
    if not seen.asked:
        count = len(seen.tpus)
        listed = "this program remembers 1 TPU" if count == 1 else f"it remembers {count} TPUs"
        told.append(f"Google has not been asked yet; {listed} that may be billed." if count
                    else "Google has not been asked yet.")  # fmt: skip
    elif chips:
        told.append(
            "1 chip is billed, or may be, until it is deleted."
            if chips == 1
            else f"{chips} chips are billed, or may be, until they are deleted."
        )
    elif seen.tpus:
        told.append("None of this is billed for chips now.")
    leftovers = sum(tpu.is_leftover for tpu in seen.tpus)
    if leftovers:
        told.append(
            "1 leftover takes up its name and quota. Press l to delete it."
            if leftovers == 1
            else f"{leftovers} leftovers take up their names and quota. Press l to delete them."
        )
    if seen.unreachable:
        zones = ", ".join(map(visible, seen.unreachable))
        told.append(f"Google could not reach {zones}, so what is there is not in this list.")
    return " ".join(told)


def details_of(
    tpu: Tpu, project: Project | None, now: datetime, *, whole: bool = False
) -> Iterator[Lines]:
    """Yield what can be done with a TPU, what comes next, and all that is known of it.

    Args:
        tpu: Which.
        project: The one whose TPUs are listed.
        now: The time.
        whole: Whether the details stand alone, without the list that names the TPU.
    """
    state = tpu.state
    if whole:
        yield _fact("name", _name(tpu, project))
        yield _fact("state", f"{state.name}  {state.meaning}")
    yield _fact("do", _DO.get(state.name, state.do))
    if tpu.error:
        yield from _of_error(tpu)
    if state.next or state.usually:
        yield _fact("next", f"{state.next} {state.usually}".strip())
    for sentence in (text for text in words.of_row(tpu) if text):
        yield _fact("", sentence)
    for node in tpu.nodes:
        yield from _slice(node)
    if state.name in ("ACTIVE", "READY") and tpu.nodes:
        command = f"gcloud compute tpus tpu-vm ssh {tpu.nodes[0].name} --zone={tpu.zone}"
        yield _fact("connect", command)
    if tpu.nodes:
        estimates = cost.estimate(tpu.nodes, now, grants.load())
        for estimate in estimates[:1]:
            yield _fact("cost", estimate.words)
    if not whole:
        yield _fact("name", _name(tpu, project))
    for node in tpu.nodes:
        image = f", {node.runtime_version}" if node.runtime_version else ""
        yield _fact("node", f"{node.name}: {node.state}{image}")
        yield from _addresses(node.internal_addresses, node.external_addresses)


def _slice(node: Node) -> Iterator[Lines]:
    """Yield the picture of a slice; what it says in colour, it says in words."""
    for number, row in enumerate(drawing.aligned(drawing.rows(node))):
        if not number:
            yield _fact("slice", drawing.title(node))
        state = word(STYLES.get(row.mark, ""), visible(row.words))
        yield Hanging(Content(f"{' ' * 9}{row.label}  ") + signs(row.signs) + "  ", state)


def signs(text: str) -> Content:
    """Return the hosts or chips of a slice, each in the colour of its state."""
    return Content("").join(
        Content.styled(BOXES.get(sign, sign), SIGN_STYLES.get(sign, "$muted")) for sign in text
    )


def _name(tpu: Tpu, project: Project | None) -> str:
    is_elsewhere = project is None or tpu.project != project.name
    where = f", in the project {tpu.project}" if is_elsewhere else ""
    return f"{tpu.name}, {words.place(tpu)}{where}"


def _of_error(tpu: Tpu) -> Iterator[Lines]:
    why, fixes = words.of_error(tpu)
    if why:
        yield _fact("why", why)
    for number, fix in enumerate(fixes[:3]):
        label = "or" if number else "fix"
        yield _fact(label, f"`{fix}`" if known.is_command(fix) else fix)


def _addresses(inside: Sequence[str], outside: Sequence[str]) -> Iterator[Lines]:
    for worker, address in enumerate(inside):
        external = outside[worker : worker + 1]
        shown = f"{external[0]} from outside" if external else "no external address"
        yield _fact("", f"worker {worker}: {address}, {shown}")


def _fact(name: str, text: str) -> Lines:
    return Hanging(Content.styled(f"{name:<8} ", "$label"), prose(text))
