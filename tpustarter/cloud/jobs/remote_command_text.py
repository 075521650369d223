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
from tpustarter.cloud.jobs.remote_command import WorkerEnded
from tpustarter.core.problem import Problem
from tpustarter.text import phrases

SHOWN_LABELS = 8
"""Number of workers listed by name if several ended the same way."""
STILL_RUNNING = (
    "The connections were ended. What was started on the workers may still run there, and then it "
    "still holds their chips."
)


def describe_other_workers(chosen: Sequence[Worker]) -> str:
    """Return a phrase about the other workers of the same command, or "" if there are none."""
    labels = [worker.label for worker in chosen[1:]]
    if not labels:
        return ""
    is_every = len(chosen) == _count_all(chosen) and len(labels) > 1
    names = f"{labels[0]} to {labels[-1]}" if is_every else join_worker_names(labels)
    return f"and the same for {names}"


def _nodes(chosen: Sequence[Worker]) -> list[TpuNode]:
    return list(dict.fromkeys(worker.node for worker in chosen))


def _count_all(chosen: Sequence[Worker]) -> int:
    return sum(max(1, node.workers) for node in _nodes(chosen))


def list_warnings(chosen: Sequence[Worker]) -> Iterator[str]:
    """Yield warnings about running the command on these workers."""
    nodes, total = _nodes(chosen), _count_all(chosen)
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
    for node in _nodes(chosen):
        with contextlib.suppress(Problem):
            now = client.of(node.api).node(node.zone, node.name)
            try:
                if now is None:
                    yield f"`{node.name}` no longer exists."
                else:
                    workers.require_ready_nodes(now)
            except Problem as problem:
                yield f"{problem.full_text} {problem.hint or ''}"
