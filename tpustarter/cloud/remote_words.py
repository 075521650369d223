"""What is said before a command runs on workers, and after: both front ends show the same.

Names and texts of Google's are in these sentences as they came, so whoever shows them makes them
safe for a terminal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tpustarter.cloud import connecting, remote, workers
from tpustarter.cloud.client import Client
from tpustarter.cloud.remote import Ended
from tpustarter.cloud.resources import Node
from tpustarter.cloud.workers import Worker
from tpustarter.problem import ExitCode, Problem

SHOWN_LABELS = 8
"""Workers that are named one by one where several ended the same way."""
STILL_RUNNING = (
    "The connections were ended. What was started on the workers may still run there, and then it "
    "still holds their chips."
)


def refuse_without_way(chosen: Sequence[Worker], via: str, *, iap: bool) -> None:
    """Raise Problem where the workers can't be connected to from this machine."""
    node = chosen[0].node
    if via == "ssh":
        if iap or any(worker.needs_iap for worker in chosen):
            remote.program("gcloud")  # the tunnel is gcloud's
        elif not all(worker.address for worker in chosen):
            raise Problem(
                f"Google lists no address for `{node.name}`",
                hint="leave `--via ssh` out, because gcloud finds the address itself",
                code=ExitCode.BUSY,
            )
    if connecting.key_file().exists() or (via == "gcloud" and len(chosen) == 1):
        return
    why = "with ssh alone" if via == "ssh" else "with several workers at a time"
    raise Problem(
        f"`{connecting.KEY}` is not there, and gcloud makes it only when it connects: {why} that "
        "does not work",
        hint=f"connect once with `{connecting.first_connection(node)}`",
        code=ExitCode.USAGE,
    )


def of_others(chosen: Sequence[Worker], nodes: Sequence[Node]) -> str:
    """Return which workers the same command runs on, beside the first; empty for one alone."""
    labels = [worker.label for worker in chosen[1:]]
    if not labels:
        return ""
    is_every = len(chosen) == _count(nodes) and len(labels) > 1
    return f"and the same for {f'{labels[0]} to {labels[-1]}' if is_every else of_labels(labels)}"


def _count(nodes: Sequence[Node]) -> int:
    return sum(max(1, node.workers) for node in nodes)


def cautions(chosen: Sequence[Worker], nodes: Sequence[Node]) -> Iterator[str]:
    """Yield what speaks against running it like this."""
    total = _count(nodes)
    if total > len(chosen):
        yield (
            f"`{nodes[0].name}` has {total} workers, and this runs on {len(chosen)} of them; a "
            "program that uses the whole slice needs `all`."
        )
    for node in nodes:
        if node.health not in ("", "HEALTHY"):
            yield f"Google says that `{node.name}` is {node.health}."


def count(endings: Sequence[Ended], seconds: float) -> str:
    """Return in one line how it ended."""
    good = [ended for ended in endings if ended.code == 0]
    noun = "worker" if len(endings) == 1 else "workers"
    return f"{len(good)} of {len(endings)} {noun} ended with 0 in {seconds:.1f} s"


def ways(endings: Sequence[Ended]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each way in which it failed, with who did, and what to do about it."""
    found: dict[str, list[Ended]] = {}
    for ended in sorted(endings, key=lambda ended: natural(ended.job.label)):
        if ended.code:
            found.setdefault(ended.what, []).append(ended)
    for what, same in found.items():
        yield f"{of_labels([ended.job.label for ended in same])} {what}", same[0].fixes


def was_cut_short(endings: Sequence[Ended]) -> bool:
    """Return whether we ended a connection, so that a program may run on without it."""
    return any(ended.what.startswith(("was stopped", "was ended at")) for ended in endings)


def of_labels(labels: Sequence[str]) -> str:
    """Return the names of workers; of many the first, and how many there are."""
    if len(labels) <= SHOWN_LABELS:
        return ", ".join(labels)
    return f"{', '.join(labels[:SHOWN_LABELS])} and {len(labels) - SHOWN_LABELS} more"


def natural(label: str) -> tuple[str, int]:
    """Return what sorts `w2` before `w10`."""
    prefix, _, number = label.rpartition("w")
    return prefix, int(number)


def what_became(client: Client, chosen: Sequence[Worker]) -> Iterator[str]:
    """Yield the state of TPUs that are not READY any more, once a worker was not reached."""
    for zone, name in dict.fromkeys((one.node.zone, one.node.name) for one in chosen):
        with contextlib.suppress(Problem):
            now = client.node(zone, name)
            try:
                if now is None:
                    yield f"`{name}` no longer exists."
                else:
                    workers.refuse_unready(now)
            except Problem as problem:
                yield f"{problem.what} {problem.hint or ''}"
