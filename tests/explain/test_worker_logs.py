"""The worker that failed first, in logs of jobs that failed for real."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.failures import shipped_scanner
from tests.support.places import SAMPLES
from tpustarter.core.problem import Problem
from tpustarter.explain import explanation_text, log_prefixes, worker_logs
from tpustarter.explain.worker_logs import JobExplanation

LOGS = SAMPLES / "worker_logs"
EXPECTED: dict[str, dict[str, str]] = yaml.safe_load((LOGS / "expected.yml").read_text())
PREFIXES = {
    "kubectl": "[pod/train-workers-0-{}-x7k2p/jax] ",
    "torch": "[rank{}]: ",
    "torchrun": "[default{}]:",
    "ray": "(train_loop pid=410{}, ip=10.0.0.{}) ",
    "vllm": "\x1b[36m(EngineCore_DP{} pid=71)\x1b[0m ",
    "mpirun": "[1,{}]<stdout>:",
    "mpirun 5": "[prterun-host-1@1,{}]<stderr>: ",
    "srun": "{}: ",
}
"""The texts of launchers before the lines of a worker."""


def logs(name: str) -> list[Path]:
    """Return the logs of a job."""
    return sorted((LOGS / name).glob("*.log"))


def explained(files: Mapping[str, bytes]) -> JobExplanation:
    """Explain the logs of a job, by the names of their files."""
    names = worker_logs.worker_names(list(files))
    scans = {  # not those that tests share, because a worker gets the signs of the others
        name: shipped_scanner().scan(io.BytesIO(log))
        for name, log in zip(names, files.values(), strict=True)
    }
    return worker_logs.explain_job(scans, dict(zip(names, files, strict=True)))


def split(log: bytes, pieces: int = 1, seed: int = 0) -> JobExplanation:
    """Explain the log of a job in which the lines of each worker are marked."""
    splitter = log_prefixes.WorkerLogSplitter(shipped_scanner())
    cuts = sorted(random.Random(seed).choices(range(len(log)), k=pieces - 1))
    for begin, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        splitter.take(log[begin:end])
    return worker_logs.explain_job(splitter.end(), places=splitter.places)


def marked(name: str, prefix: str) -> bytes:
    """Return all logs of a job as one, a line of each worker after the other."""
    lines = [path.read_text().splitlines() for path in logs(name)]
    return "".join(
        f"{prefix.format(worker, worker)}{own[number]}\n"
        for number in range(max(map(len, lines)))
        for worker, own in enumerate(lines)
        if number < len(own)
    ).encode()


@pytest.mark.parametrize("name", EXPECTED)
def test_worker_that_failed_first_is_named(name: str) -> None:
    """The worker that failed first is named; three that logs can't tell aren't named wrongly."""
    row = EXPECTED[name]
    job = explained({str(path): path.read_bytes() for path in logs(name)})
    if "missed" in row:
        assert job.first is None or job.first.name != row["first"]
        return
    assert job.first
    shown = f"{[match.failure.id for match in job.found.matches]} {job.found.last_error}"
    assert (job.first.name, True) == (row["first"], row["explained"] in shown)
    jsonschema.validate(
        worker_logs.make_json_document(job),
        json.loads(Path(explanation_text.__file__).with_name("schema.json").read_text()),
    )


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("name", ["key-error", "killed-worker"])
def test_lines_of_workers_are_told_apart(name: str, prefix: str) -> None:
    """The lines that are quoted have their numbers in the whole log."""
    log = marked(name, prefix)
    job = split(log, pieces=7)
    assert job.first
    assert "2" in job.first.name
    lines = log.decode().splitlines()
    for match in job.found.matches:
        for sign in match.signs:
            assert sign.quote.split()[0] in lines[sign.line - 1]


def test_pieces_of_a_log_change_nothing() -> None:
    """A pipe may be cut anywhere; lines before the first mark belong to nobody."""
    log = b"INFO start\n" * 50 + marked("jax-0.12-key-error", PREFIXES["kubectl"])
    whole = worker_logs.make_json_document(split(log))
    for seed in range(4):
        assert whole == worker_logs.make_json_document(split(log, pieces=200, seed=seed))


def test_one_worker_is_no_job() -> None:
    """Many programs print a bracket or a number before each line."""
    splitter = log_prefixes.WorkerLogSplitter(shipped_scanner())
    splitter.take(b"[rank0]: Traceback (most recent call last):\n[rank0]: KeyError: 6\n")
    assert not splitter.end()


def test_text_names_worker_and_all_others() -> None:
    """The text names the first worker and all others, and asks for no further log."""
    job = explained({str(path): path.read_bytes() for path in logs("key-error")})
    text = worker_logs.render_explanation(job)
    place = str(LOGS / "key-error" / "worker-2.log")
    assert text.startswith("Of 3 workers, worker 2 failed first")
    assert place in "".join(text.split())
    assert "where   prog.py, line 39: y = step(x * data[s])" in text
    assert "  worker 0  shows no error; its last line is step 5 480.0" in text
    assert "  worker 1  another process of the job died" in text
    assert "collect the output of all" not in text


def test_equal_errors_are_told_as_one() -> None:
    """An error of all workers has no first one."""
    log = logs("missing-package")[2].read_bytes()
    job = explained({f"{number}.log": log for number in range(4)})
    assert job.first is None
    assert "All 4 workers failed with the same error." in worker_logs.render_explanation(job)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["0.log", "1.log"], ["worker 0", "worker 1"]),
        (["a1/worker-3.log", "a1/worker-12.log"], ["worker 3", "worker 12"]),
        (["host-a.log", "host-b.log"], ["host-a.log", "host-b.log"]),
        (["a/log", "b/log"], ["a/log", "b/log"]),
        (["job-7-0-1.txt", "job-7-1-1.txt"], ["worker 0", "worker 1"]),
    ],
)
def test_workers_are_named_by_differing_numbers(files: list[str], named: list[str]) -> None:
    """A number of the job or of a date is the same in all names."""
    assert worker_logs.worker_names(files) == named


def test_error_before_lost_peers_is_own() -> None:
    """JAX ends a process that has raised with lines that speak of the others."""
    job = explained({"worker-2.log": logs("key-error")[2].read_bytes()})
    found = job.workers[0].found
    assert found.has_own_error
    assert found.mistake
    assert found.mistake.error == "KeyError: 6"
    assert "Follows from it:" in explanation_text.render_explanation(found)


@pytest.mark.parametrize(
    "row",
    [
        {"id": "x", "label": "", "marks": [], "pattern": "a", "source": "b"},
        {"id": "x", "label": "", "marks": ["a"], "pattern": "", "source": "b"},
        {"id": "x", "marks": ["a"], "pattern": "a", "source": "b", "more": 1},
    ],
)
def test_broken_row_of_prefixes_is_named(tmp_path: Path, row: dict[str, Any]) -> None:
    """A broken row of prefixes is an error that names the file and the row."""
    file = tmp_path / "rows.yml"
    file.write_text(yaml.safe_dump([row]))
    with pytest.raises(Problem, match=r"the row `x` of `rows\.yml` cannot be used"):
        log_prefixes.read_prefixes(file)
