"""`tpustarter watch --all-hosts`: hosts behind a program that answers as ssh does, and the rows."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.support.metrics_server import gauges, serve
from tpustarter.core import content
from tpustarter.core.problem import ExitCode
from tpustarter.slices.remote_slice_check import Engine
from tpustarter.slices.slice_watch import (
    SITUATIONS,
    SliceWatch,
    WatchedSlice,
    WatchedSliceHost,
    find_slice_situation,
    prepare_watch,
)
from tpustarter.slices.slice_watch_text import render_slice
from tpustarter.slices.starting.launch_request import HostCommand, keep_archive
from tpustarter.watch.missing_metrics import MissingMetrics
from tpustarter.watch.reading import DeviceReading, LinkReading
from tpustarter.watch.situations import Situation, read_situation_rules
from tpustarter.watch.watch_document import (
    SdkUse,
    WatchDocument,
    WatchedHost,
    WatchTool,
    make_schema,
)

GIB = 2**30
NO_ROUTE = "ssh: connect to host gone port 22: No route to host"
SSH = """#!/bin/sh
for last; do :; done
case "$*" in
*-G*) echo "hostname 127.0.0.1" ;;
*" gone "*) echo "{no_route}" >&2; exit 255 ;;
*" bare "*) exec sh -c "$(echo "$last" | sed 's,{python},{python} -I -S,')" ;;
*" stuck "*) exec sleep 600 ;;
{ports}
esac
"""
"""Answers as ssh does. Each of the other hosts has the metrics of a port of its own."""


@contextlib.contextmanager
def hosts(folder: Path, **duties: float) -> Iterator[dict[str, str]]:
    """Serve each host's metrics, and yield the environment that reaches the hosts."""
    with contextlib.ExitStack() as stack:
        cases: list[str] = []
        for name, duty in duties.items():
            port = stack.enter_context(serve(gauges(4, duty=duty)))
            known = f"TPU_RUNTIME_METRICS_PORTS={port}"
            cases.append(f'*" {name} "*) {known} exec sh -c "$last" ;;')
        programs = folder / "bin"
        programs.mkdir()
        text = SSH.format(no_route=NO_ROUTE, python=sys.executable, ports="\n".join(cases))
        (programs / "ssh").write_text(text)
        (programs / "ssh").chmod(0o755)
        yield {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}


def watch(env: dict[str, str], names: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Watch the hosts once."""
    words = ("watch", "--all-hosts", "--start", "ssh", "--on", names, "--yes", *options)
    return subprocess.run(
        [sys.executable, "-m", "tpustarter", *words, "--python", sys.executable],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_hosts_answer_or_are_named(tmp_path: Path) -> None:
    """Hosts that can't be reached or lack tpustarter are named, and the others are shown."""
    with hosts(tmp_path, a=98, b=0) as env:
        done = watch(env, "a,b,gone,bare", "--json")
    seen = json.loads(done.stdout)

    jsonschema.Draft202012Validator(make_schema(WatchedSlice)).validate(seen)
    assert [98, 0, None, None] == [
        one["document"] and one["document"]["devices"][0]["duty_cycle_percent"]
        for one in seen["hosts"]
    ]
    assert NO_ROUTE in seen["hosts"][2]["problem"]
    assert "has no tpustarter" in seen["hosts"][3]["problem"]
    assert "host-idle" == seen["situation"]["id"]
    assert ExitCode.OK == done.returncode == seen["exit_code"]


def test_stuck_host_is_given_up(tmp_path: Path) -> None:
    """A host that never answers costs the wait, and no more."""
    command = HostCommand(words=("sleep", "600"), host=0, name="stuck")
    seen = SliceWatch([command], tmp_path, 2).look_once(1)

    assert "did not answer within 1 s" == seen.hosts[0].problem
    assert ExitCode.INCONCLUSIVE == seen.exit_code


def test_following_shows_last_answer_of_each_host(tmp_path: Path) -> None:
    """A host that ends after an answer is named with its end; Ctrl-C is a stop of the hosts."""
    event = {"event": "watched", "document": msgspec.to_builtins(make_host(0).document)}
    line = shlex.quote(json.dumps(event, default=str))
    texts = (f"echo {line}; exec sleep 600", f"echo {line}; echo gone >&2; exit 9")
    commands = [HostCommand(words=("sh", "-c", text), host=n) for n, text in enumerate(texts)]
    watched = SliceWatch(commands, tmp_path, 0.2)
    for seen in watched.follow():
        if seen.hosts[0].document and seen.hosts[1].problem:
            break
    watched.stop()

    assert "ended (exit code 9): gone" == seen.hosts[1].problem
    assert seen.situation is not None
    assert "host-silent" == seen.situation.id


def test_nobody_answers_is_inconclusive(tmp_path: Path) -> None:
    """Without a number the exit code is that of `watch` without numbers."""
    with hosts(tmp_path) as env:
        done = watch(env, "gone", "--json")

    assert "no-host-answers" == json.loads(done.stdout)["situation"]["id"]
    assert ExitCode.INCONCLUSIVE == done.returncode


def test_watching_needs_no_free_node_of_slurm() -> None:
    """The watched program has the allocation, so that another step would wait for its end."""
    engine = Engine(name="slurm", options={"slurm": "--partition=tpu"})
    (command,) = prepare_watch(engine, once=True, seconds=2)

    assert {"--overlap", "--partition=tpu"} <= {*command.words}


def test_prepared_watch_stays_as_shown() -> None:
    """Another one, prepared before it starts, has a zip of its own; the same one shares it."""
    engine = Engine(name="slurm", options={})
    (first,) = prepare_watch(engine, once=False, seconds=2)
    assert first.archive is not None
    before = first.archive.read_bytes()
    (other,) = prepare_watch(engine, once=True, seconds=2)
    (same,) = prepare_watch(engine, once=False, seconds=2)

    assert before == first.archive.read_bytes()
    assert first.archive == same.archive != other.archive


def test_old_zips_of_hosts_are_deleted() -> None:
    """Those of the last days stay, because a command that was copied names them."""
    old, recent = (keep_archive("watch-all-hosts", data) for data in (b"old", b"recent"))
    os.utime(old, (0, 0))
    keep_archive("watch-all-hosts", b"new")

    assert (False, True) == (old.exists(), recent.exists())


def make_host(number: int, duty: float | None = 98, **more: Any) -> WatchedSliceHost:
    """Return a host of four devices; `problem` and `duty=None` leave out the numbers."""
    if problem := more.get("problem"):
        return WatchedSliceHost(number, f"w-{number}", problem, None)
    used = int(more.get("memory", 40) * 32 * GIB / 100)
    devices = tuple(
        DeviceReading(at, used, 32 * GIB, duty, throttle_score=more.get("throttle"))
        for at in range(4 if duty is not None else 0)
    )
    missing = MissingMetrics(more.get("missing", "nothing-runs"), "why", "hint", "lesson", 3)
    own = Situation("busy", "busy", "todo", "source", "trouble/live-numbers")
    document = WatchDocument(
        schema="tpustarter.watch/1",
        tool=WatchTool("0"),
        at=datetime(2026, 11, 30, tzinfo=timezone.utc),
        host=WatchedHost(4, "v6e"),
        ports=(8431,),
        devices=devices,
        links=tuple(LinkReading("chip0.ici0", one) for one in more.get("links", ())),
        processes=(),
        sdk=SdkUse(None, None),
        situation=own if devices else None,
        missing=None if devices else missing,
        exit_code=0,
    )
    return WatchedSliceHost(number, f"w-{number}", None, document)


CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no-host-answers": ([{"problem": "no"}] * 2, "none of 2 hosts"),
    "link-down": ([{}, {"links": (0, 10)}], "chip0.ici0 of host 1"),
    "host-throttled": ([{}, {"throttle": 3}], "host 1 is throttled"),
    "host-without-program": ([{}, {"duty": None}], "host 1, while 1 of 2 hosts works"),
    "host-idle": ([{}] * 3 + [{"duty": 0}] + [{}] * 4, "host 3 is idle while 7 of 8 hosts work"),
    "host-without-numbers": (
        [{}, {"duty": None, "missing": "container"}],
        "what host 1 does is not known: why",
    ),
    "host-silent": ([{}, {"problem": "no"}], "host 1 did not answer"),
    "nothing-runs": ([{"duty": None}] * 2, "any of 2 hosts"),
    "all-hosts-wait": ([{"duty": 0, "memory": 90}] * 2, "2 of 2 hosts hold their chips"),
    "memory-uneven": ([{"memory": 80}, {}], "host 0 uses 80 % of its memory and host 1 40 %"),
    "duty-uneven": ([{}, {"duty": 55}], "host 0 computes 98 % of the time and host 1 55 %"),
    "busy": ([{}, {}], "on all 2 hosts"),
}


@pytest.mark.parametrize("case", CASES)
def test_sentence_tells_situation_of_hosts(case: str) -> None:
    """Each situation of the hosts has its sentence, which names them."""
    rows, text = CASES[case]
    found = find_slice_situation([make_host(number, **row) for number, row in enumerate(rows)])

    assert found is not None
    assert (case, True) == (found.id, text in found.text), found.text


def test_every_row_is_tried_and_has_its_lesson() -> None:
    """A row without a case could be wrong for ever."""
    rules = read_situation_rules(SITUATIONS)
    lessons = {lesson.id for lesson in content.read_lessons()}

    assert {*CASES} - {"busy"} == {rule.id for rule in rules}
    assert {rule.lesson for rule in rules} <= lessons


@pytest.mark.parametrize("count", [1, 8, 64])
def test_table_fits_terminal_and_shows_worst(count: int) -> None:
    """The table fits the terminal and keeps the hosts with a problem or the least work."""
    rows = [make_host(number) for number in range(count)]
    rows[-1] = make_host(count - 1, problem="was not reached\x1b[2J: No route to host")
    seen = WatchedSlice(
        "tpustarter.watch/1",
        WatchTool("0"),
        datetime(2026, 11, 30, tzinfo=timezone.utc),
        tuple(rows),
        find_slice_situation(rows),
        0,
    )
    lines = render_slice(seen, width=80, height=23)

    assert len(lines) <= 23
    assert all(len(line) <= 80 and "\x1b" not in line for line in lines)
    assert any("No route to host" in line for line in lines)
    assert any(f"{count} host" in line for line in lines)


@pytest.mark.parametrize(("height", "is_whole"), [(None, True), (23, True), (9, False)])
def test_cut_reason_is_below_the_table(height: int | None, is_whole: bool) -> None:
    """A reason cut in the table is shown whole below it if there is room, within 80 columns."""
    reason = "was not reached (exit code 255): ssh: connect to host gone port 22: No route to host"
    rows = (make_host(0), make_host(1, problem=reason))
    at = datetime(2026, 11, 30, tzinfo=timezone.utc)
    situation = find_slice_situation(rows)
    seen = WatchedSlice("tpustarter.watch/1", WatchTool("0"), at, rows, situation, 0)
    lines = render_slice(seen, width=80, height=height)

    assert is_whole == (f"host 1: {reason}" in " ".join(lines))
    assert max(map(len, lines)) <= 80
