"""A day over both APIs and five zones, whose commands are killed at twenty of their calls.

The commands are those of a user: create, list, stop, start, run a job, give back. After each kill
everything billed is in the ledger and in the list, and nothing of anybody else is gone.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cloud_day import Day, living
from tests.support.cloud_runs import CAPACITY, INTERNAL, QUOTA
from tests.support.fake_cloud import NEVER
from tests.support.fake_compute import STOCKOUT, WAITS
from tests.support.fake_workers import ending_jobs, lay_workers
from tpustarter.cloud.billing import ledger

FULL, NO_QUOTA, QUEUE, FLAKY, GOOD = ZONES = [
    "us-central1-a",
    "us-central2-b",
    "us-east1-d",
    "us-east5-a",
    "us-west4-a",
]
KILLS = 20
TYPING_S = 120.0
"""Seconds until the user has typed the next command."""
TRIES = 40
"""Most commands until something is reached; only a fault needs so many."""
JOB = ("--give-back", "--yes", "--fetch", "out/*", "--fetch-to", "results")
COMMAND = "mkdir -p out; echo $TPUSTARTER_JOB >out/result"


def lay_zones(day: Day) -> None:
    """Give each zone a bad day of its own, and each a TPU of a colleague in both APIs."""
    day.cloud.refusals = {
        FULL: [CAPACITY] * 50,
        NO_QUOTA: [QUOTA] * 50,
        FLAKY: [INTERNAL, INTERNAL, *[CAPACITY] * 50],
    }
    day.cloud.is_lost = {GOOD: [False, True]}
    day.cloud.scripts = {QUEUE: [(NEVER, None)] * 50}
    day.compute.zone_scripts = {
        FULL: [(((0, "PROVISIONING"),), STOCKOUT)] * 50,
        QUEUE: [(WAITS, None)] * 50,
    }
    day.compute.is_lost = {"instances": [True], "instanceGroupManagers": [True]}
    for zone in ZONES:
        day.others.add(day.cloud.add_foreign(zone, "colleague"))
        day.compute.add_instance("colleague", "ct6e-standard-8t", zone=zone)
        day.others.add(f"zones/{zone}/instances/colleague")
        day.others.add(day.cloud.add_foreign(zone, "dead", ((0, "FAILED"),)))
    # A colleague has the same program, which has just begun to make a slice.
    day.others.add(day.compute.add_template("half", FLAKY))
    # Others use our names too: in the other API, or in another zone.
    day.others.add(day.cloud.add_foreign(NO_QUOTA, "gemma"))
    day.others.add(day.cloud.add_foreign(QUEUE, "vit", ((0, "SUSPENDED"),)))
    day.compute.add_instance("bert", "ct6e-standard-8t", zone=GOOD)
    day.others.add(f"zones/{GOOD}/instances/bert")


def reach(day: Day, is_reached: Callable[[], bool], *commands: tuple[str, ...]) -> None:
    """Run commands again and again, as a user does after a crash, until something is reached."""
    for _ in range(TRIES):
        if is_reached():
            return
        for words in commands:
            day.run(*words)
        day.cloud.clock.sleep(TYPING_S)
    raise AssertionError(f"{commands} does not get there:\n{day.output}")


def create(day: Day, api: str, name: str, kind: str, *more: str, zones: list[str]) -> None:
    """Create a TPU in the first zone that has one."""
    where = [word for zone in zones for word in ("--zone", zone)]
    words = ("create", name, "--type", kind, "--api", api, *where, *more, "--yes")
    reach(day, lambda: day.state(api, name) == "ACTIVE", words)


def delete(day: Day, api: str, name: str, zone: str) -> None:
    """Give a TPU back."""
    words = ("delete", name, "--zone", zone, "--api", api, "--yes")
    reach(day, lambda: not day.state(api, name, zone), words)


def switch(day: Day, verb: str, status: str) -> None:
    """Stop or start the TPU VM of Compute Engine."""
    path = f"zones/{GOOD}/instances/gemma"
    reach(
        day,
        lambda: day.compute.existing()[path]["status"] == status,
        (verb, "gemma", "--zone", GOOD, "--yes"),
    )


def work(day: Day, api: str, name: str) -> None:
    """Run a job that gives its TPU back, or follow it where it has begun."""
    reach(
        day,
        lambda: not day.state(api, name, GOOD),
        ("job", "start", name, "--zone", GOOD, *JOB, "--", COMMAND),
        ("job", "logs", "-f", name, "--zone", GOOD),
    )


def lose(day: Day) -> None:
    """Lose a spot TPU of each API, and clear what it leaves."""
    day.cloud.preempt(GOOD, "vit")
    day.cloud.clock.sleep(120)
    day.compute.lose(f"zones/{GOOD}/instances/spare", is_preemption=True)
    leftovers = ("delete", "--leftovers", "--yes")
    reach(day, lambda: not day.state("cloud-tpu", "vit", GOOD), leftovers)
    reach(day, lambda: not day.state("compute", "spare"), ("list",))


GOALS: tuple[Callable[[Day], None], ...] = (
    lambda day: create(day, "cloud-tpu", "bert", "v6e-8", "--spot", zones=ZONES),
    lambda day: create(day, "compute", "gemma", "v6e-8", zones=[FULL, GOOD]),
    lambda day: create(
        day, "compute", "llama", "v6e-16", "--flex-start", "4h", zones=[QUEUE, FLAKY]
    ),
    lambda day: create(day, "cloud-tpu", "vit", "v6e-8", "--spot", zones=[FLAKY, GOOD]),
    lambda day: create(day, "compute", "spare", "v6e-8", "--spot", zones=[GOOD]),
    lambda day: switch(day, "stop", "TERMINATED"),
    lambda day: switch(day, "start", "RUNNING"),
    lambda day: work(day, "compute", "gemma"),
    lose,
    lambda day: delete(day, "compute", "llama", FLAKY),
    lambda day: delete(day, "cloud-tpu", "bert", GOOD),
)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="Without systemd a job needs tmux.")
def test_twenty_kills_lose_no_billed_tpu(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """In the evening nothing of ours is left, in the ledger or at Google, and all of theirs is."""
    seed = pytestconfig.option.seed
    print(f"seed {seed} (--seed)")
    monkeypatch.setenv("HOME", str(home))
    (home / ".ssh").mkdir()
    (home / ".ssh/google_compute_engine").touch()
    folder = tmp_path / "day"
    folder.mkdir()
    with ending_jobs(lay_workers(tmp_path / "workers")) as homes:
        monkeypatch.setenv("PATH", f"{homes}:{os.environ['PATH']}")
        with living(folder, random.Random(seed), ZONES) as day:
            lay_zones(day)
            for number, goal in enumerate(GOALS):
                day.kills = min(KILLS, 2 * (number + 1))
                goal(day)
                day.check()
            # A request that got no answer is listed for ten minutes, because it may still arrive.
            day.cloud.clock.sleep(ledger.KEPT_AFTER_UNANSWERED_S)
            day.run("list")
            while len(day.killer.points) < KILLS:
                day.killer.arm(at_reads=True)
                day.run("list")
            print("\n".join(day.killer.points))

            assert KILLS == len(day.killer.points)
            assert {*day.existing()} == day.others
            assert [] == ledger.read_ledger()
