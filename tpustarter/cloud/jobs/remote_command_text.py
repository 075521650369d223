"""Texts before and after a command on workers, for both front ends.

They contain Google's names and texts unescaped, so the caller must escape them for a terminal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tpustarter.cloud.api import workers
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import remote_command
from tpustarter.cloud.jobs.remote_command import WorkerEnded
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases

SHOWN_LABELS = 8
"""Number of workers listed by name if several ended the same way."""
STILL_RUNNING = (
    "The connections were ended. What was started on the workers may still run there, and then it "
    "still holds their chips."
)


def require_reachable_workers(chosen: Sequence[Worker], via: str, *, iap: bool) -> None:
    """Raise Problem if the workers cannot be reached from this machine."""
    node = chosen[0].node
    if via == "ssh":
        if iap or any(worker.needs_iap for worker in chosen):
            remote_command.find_executable("gcloud")  # it opens the tunnel
        elif not all(worker.address for worker in chosen):
            raise Problem(
                f"Google lists no address for `{node.name}`",
                hint="leave `--via ssh` out, because gcloud finds the address itself",
                code=ExitCode.BUSY,
            )
    if worker_connection.key_file().exists() or (via == "gcloud" and len(chosen) == 1):
        return
    command = worker_connection.build_login_command(node, "--command=true")
    why = "with ssh alone" if via == "ssh" else "with several workers at a time"
    raise Problem(
        f"`{worker_connection.KEY}` is not there, and gcloud makes it only when it connects: "
        f"{why} that does not work",
        hint=f"connect once with `{command}`",
        code=ExitCode.USAGE,
    )


def describe_other_workers(chosen: Sequence[Worker], nodes: Sequence[TpuNode]) -> str:
    """Return a phrase about the other workers of the same command, or "" if there are none."""
    labels = [worker.label for worker in chosen[1:]]
    if not labels:
        return ""
    is_every = len(chosen) == _count(nodes) and len(labels) > 1
    names = f"{labels[0]} to {labels[-1]}" if is_every else join_worker_names(labels)
    return f"and the same for {names}"


def _count(nodes: Sequence[TpuNode]) -> int:
    return sum(max(1, node.workers) for node in nodes)


def list_warnings(chosen: Sequence[Worker], nodes: Sequence[TpuNode]) -> Iterator[str]:
    """Yield warnings about running the command on these workers."""
    total = _count(nodes)
    if total > len(chosen):
        yield (
            f"`{nodes[0].name}` has {total} workers, and this runs on {len(chosen)} of them; a "
            "program that uses the whole slice needs `all`."
        )
    for node in nodes:
        if node.health not in ("", "HEALTHY"):
            yield f"Google says that `{node.name}` is {node.health}."


def summarize_endings(endings: Sequence[WorkerEnded], seconds: float) -> str:
    """Return one line that summarizes how the command ended on its workers."""
    good = [ended for ended in endings if ended.code == 0]
    workers = phrases.format_count(len(endings), "worker")
    return f"{len(good)} of {workers} ended with 0 in {seconds:.1f} s"


def group_failures(endings: Sequence[WorkerEnded]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each kind of failure with its workers, and its remedies."""
    found: dict[str, list[WorkerEnded]] = {}
    for ended in sorted(endings, key=lambda ended: ended.command.number):
        if ended.code:
            found.setdefault(ended.what, []).append(ended)
    for what, same in found.items():
        yield f"{join_worker_names([ended.command.label for ended in same])} {what}", same[0].fixes


def join_worker_names(labels: Sequence[str]) -> str:
    """Join the names of workers; a long list is cut to the first ones and a count."""
    if len(labels) <= SHOWN_LABELS:
        return ", ".join(labels)
    return f"{', '.join(labels[:SHOWN_LABELS])} and {len(labels) - SHOWN_LABELS} more"


def describe_unready_tpus(client: ProjectClient, chosen: Sequence[Worker]) -> Iterator[str]:
    """Yield the state of TPUs that are not READY, after a worker was not reached."""
    nodes = {(one.node.zone, one.node.name): one.node for one in chosen}
    for (zone, name), node in nodes.items():
        with contextlib.suppress(Problem):
            now = client.of(node.api).node(zone, name)
            try:
                if now is None:
                    yield f"`{name}` no longer exists."
                else:
                    workers.require_ready_nodes(now)
            except Problem as problem:
                yield f"{problem.full_text} {problem.hint or ''}"
