"""Compute Engine on loopback: instances, groups, templates and policies, with their operations.

It serves the REST methods that `ComputeClient` calls, below `compute.googleapis.com/`. Each TPU
follows a script over the time of a fake clock, so that an hour passes at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support import loopback
from tests.support.fake_cloud import FakeClock
from tests.support.fake_google import refusal
from tpustarter.cloud.api import compute_requests
from tpustarter.cloud.api.compute_client import ComputeClient
from tpustarter.cloud.api.rest_client import RestClient

PROJECT = "my-project"
ZONE = "us-central1-b"
STOCKOUT_TEXT = (
    "The zone 'projects/my-project/zones/us-central1-b' does not have enough resources available "
    "to fulfill the request.  Try a different zone, or try again later."
)
STOCKOUT = ("ZONE_RESOURCE_POOL_EXHAUSTED", STOCKOUT_TEXT)
"""Source: https://github.com/kubernetes/k8s.io/issues/9834 (read 2026-11)."""
QUOTA = "Quota 'TPUS_PER_TPU_FAMILY' exceeded.  Limit: 0.0 in region us-central1."
Steps = tuple[tuple[float, str], ...]
SOON: Steps = ((0, "PROVISIONING"), (20, "STAGING"), (60, "RUNNING"))
WAITS: Steps = ((0, "PENDING"),)
KINDS = ("instances", "instanceGroupManagers", "instanceTemplates", "resourcePolicies")


@dataclass
class Thing:
    """A resource with its JSON, and its script."""

    body: dict[str, Any]
    made_s: float
    steps: Steps = SOON
    fails: tuple[str, str] | None = None
    """Code and message with which its creation fails after `FAILS_S`, which removes it."""
    deleted_s: float | None = None


FAILS_S = 40.0
DELETE_S = 30.0


@dataclass
class FakeCompute:
    """The service: its resources by path, the requests it got, and the next errors."""

    clock: FakeClock = field(default_factory=FakeClock)
    things: dict[str, Thing] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    scripts: list[tuple[Steps, tuple[str, str] | None]] = field(default_factory=list)
    """Scripts of the next instances and groups; `SOON` after those."""
    refusals: dict[str, list[Any]] = field(default_factory=dict)
    """Errors of the next insertions of a kind; None accepts one."""
    is_lost: dict[str, list[bool]] = field(default_factory=dict)
    """True for each of the next insertions of a kind that is carried out but not answered."""
    unreachable: list[str] = field(default_factory=list)
    preemptions: list[dict[str, str]] = field(default_factory=list)
    """The operations that stand for pre-emptions, newest first."""
    operations: dict[str, str] = field(default_factory=dict)
    """Path of the resource that each operation creates."""
    address: str = ""

    def now_s(self) -> float:
        """Return the current time in seconds."""
        return self.clock.now().timestamp()

    def status(self, thing: Thing) -> str | None:
        """Return the status of an instance, or None once it is gone."""
        age_s = self.now_s() - thing.made_s
        if thing.deleted_s is not None:
            return None if self.now_s() - thing.deleted_s >= DELETE_S else "STOPPING"
        if thing.fails and age_s >= FAILS_S:
            return None
        return [state for start_s, state in thing.steps if start_s <= age_s][-1]

    def existing(self) -> dict[str, dict[str, Any]]:
        """Return all existing resources by path, including the instances of groups."""
        rows: dict[str, dict[str, Any]] = {}
        for path, thing in self.things.items():
            status = self.status(thing)
            if status is None:
                continue
            rows[path] = {**thing.body, "creationTimestamp": self._made(thing)}
            if "/instances/" in path:
                rows[path] |= {"status": status, **_card(thing.body, path)}
            if "/instanceGroupManagers/" in path:
                rows[path]["status"] = {"isStable": status in ("RUNNING", "LOST")}
                rows |= self._machines(path, thing, status)
        return rows

    def _made(self, thing: Thing) -> str:
        return datetime.fromtimestamp(thing.made_s, timezone.utc).isoformat()

    def _machines(self, path: str, thing: Thing, status: str) -> dict[str, dict[str, Any]]:
        if status not in ("RUNNING", "STAGING", "STOPPING"):
            return {}
        place, name = path.partition("/instanceGroupManagers/")[::2]
        template = self.things[f"global/instanceTemplates/{name}"].body["properties"]
        rows: dict[str, dict[str, Any]] = {}
        for number in range(thing.body["targetSize"]):
            own = f"{name}-{number:04x}"
            made_by = {"key": "created-by", "value": f"projects/1/{path}"}
            row = {
                **template,
                "name": own,
                "zone": f"projects/{PROJECT}/{place}",
                "machineType": f"projects/{PROJECT}/{place}/machineTypes/{template['machineType']}",
                "metadata": {"items": [made_by]},
                "status": status,
                "creationTimestamp": self._made(thing),
            }
            rows[f"{place}/instances/{own}"] = row | _card(row, f"x/{number}")
        return rows

    def add_instance(self, name: str, machine: str, *, zone: str = ZONE, **more: Any) -> None:
        """Add a running instance of somebody else's."""
        steps = more.pop("steps", ((0, "RUNNING"),))
        body = {
            "name": name,
            "zone": f"projects/{PROJECT}/zones/{zone}",
            "machineType": f"projects/{PROJECT}/zones/{zone}/machineTypes/{machine}",
            "networkInterfaces": [{"accessConfigs": [{}]}],
            **more,
        }
        self.things[f"zones/{zone}/instances/{name}"] = Thing(body, self.now_s(), steps)

    def add_template(self, name: str, zone: str) -> str:
        """Add a slice's template that another user's tpustarter made, and return its path."""
        labels = {**compute_requests.MADE_BY, compute_requests.ZONE_LABEL: zone}
        machine = {"machineType": "ct6e-standard-4t", "labels": labels}
        path = f"global/instanceTemplates/{name}"
        body = {"name": name, "properties": machine}
        self.things[path] = Thing(body, self.now_s(), ((0, "READY"),))
        return path

    def lose(self, path: str, *, is_preemption: bool) -> None:
        """Take an instance, or the machines of a group, away, as Google or somebody else does."""
        names = [one for one in self.existing() if f"/instances/{path.rpartition('/')[2]}" in one]
        if is_preemption:
            now = self.clock.now().isoformat()
            for name in names:
                target = f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/{name}"
                self.preemptions.insert(0, {"targetLink": target, "insertTime": now})
        thing = self.things[path]
        if "/instances/" in path:
            thing.deleted_s = self.now_s() - DELETE_S
        thing.steps = ((0, "LOST"),)

    def answer(self, method: str, target: str, body: Any) -> Any:
        """Return the response to a request: a document, `(status, document)`, or None."""
        parts = urlsplit(target)
        path = parts.path.partition(f"/projects/{PROJECT}/")[2]
        self.asked.append((method, path, body))
        if method == "GET":
            return self._get(path, parse_qs(parts.query))
        if method == "DELETE":
            return self._delete(path)
        if path.endswith(("/stop", "/start")):
            return self._switch(path)
        return self._insert(path, body)

    def _get(self, path: str, query: dict[str, list[str]]) -> Any:
        if path.startswith("aggregated/"):
            return self._list(path.rpartition("/")[2], int(query.get("pageToken", ["0"])[0]))
        if path.endswith("/operations"):
            assert ['operationType="compute.instances.preempted"'] == query["filter"]
            return {"items": self.preemptions}
        if "/operations/" in path:
            return self._operation(path)
        if path.endswith("/listErrors"):
            thing = self.things.get(path.removesuffix("/listErrors"))
            failed = thing.fails if thing else None
            rows = [{"error": {"code": failed[0], "message": failed[1]}}] if failed else []
            return {"items": rows}
        row = self.existing().get(path)
        return row or refusal(404, f"The resource 'projects/{PROJECT}/{path}' was not found")

    def _list(self, kind: str, start: int) -> Any:
        rows = [(path, row) for path, row in self.existing().items() if f"/{kind}/" in f"/{path}"]
        places: dict[str, dict[str, Any]] = {}
        for path, row in rows[start : start + 500]:
            place = path.partition(f"/{kind}/")[0]
            places.setdefault(place, {}).setdefault(kind, []).append(row)
        more = {"nextPageToken": str(start + 500)} if len(rows) > start + 500 else {}
        return {"items": places, "unreachables": self.unreachable, **more}

    def _operation(self, path: str) -> Any:
        thing = self.things.get(self.operations.get(path, ""))
        if thing is None or not thing.fails or thing.deleted_s is not None:
            return {"name": path, "status": "DONE"}
        if self.now_s() - thing.made_s < FAILS_S:
            return {"name": path, "status": "RUNNING"}
        code, message = thing.fails
        errors = {"errors": [{"code": code, "message": message}]}
        return {"status": "DONE", "httpErrorStatusCode": 503, "error": errors}

    def _insert(self, path: str, body: Any) -> Any:
        kind = path.rpartition("/")[2]
        queue = self.refusals.get(kind)
        if queue and (refused := queue.pop(0)):
            return refused
        full = f"{path}/{body['name']}"
        if full in self.existing():
            return refusal(409, f"The resource 'projects/{PROJECT}/{full}' already exists")
        steps, fails = SOON, None
        if kind in KINDS[:2] and self.scripts:
            steps, fails = self.scripts.pop(0)
        if kind in KINDS[2:]:
            steps = ((0, "READY"),)
        place = path.rpartition("/")[0]
        made = {**body, "zone": f"projects/{PROJECT}/{place}"} if kind in KINDS[:2] else {**body}
        earlier_s = KINDS.index(kind) * 5  # the parts of a slice are created one after the other
        self.things[full] = Thing(made, self.now_s() - earlier_s, steps, fails)
        lost = self.is_lost.get(kind)
        return None if lost and lost.pop(0) else self._started(path, full)

    def _started(self, path: str, full: str) -> Any:
        parts = path.split("/")
        place = "global" if parts[0] == "global" else "/".join(parts[:2])
        name = f"operation-{len(self.operations)}"
        self.operations[f"{place}/operations/{name}"] = full
        return {"name": name, "status": "RUNNING"}

    def _delete(self, path: str) -> Any:
        if path not in self.existing():
            return refusal(404, f"The resource 'projects/{PROJECT}/{path}' was not found")
        groups = [one for one in self.existing() if "/instanceGroupManagers/" in one]
        if "/instanceTemplates/" in path and any(one.endswith(path[-5:]) for one in groups):
            return refusal(400, f"The instance_template resource '{path}' is already being used")
        thing = self.things[path]
        is_quick = "/instanceTemplates/" in path or "/resourcePolicies/" in path
        thing.deleted_s = self.now_s() - (DELETE_S if is_quick else 0)
        return self._started(path.rpartition("/")[0], path)

    def _switch(self, path: str) -> Any:
        full, _, verb = path.rpartition("/")
        status = "TERMINATED" if verb == "stop" else "RUNNING"
        self.things[full].steps = ((0, status),)
        return self._started(full.rpartition("/")[0], full)


def _card(body: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the network interface of an instance, with its addresses."""
    number = sum(path.encode()) % 200 + 2
    outside = (body.get("networkInterfaces") or [{}])[0].get("accessConfigs")
    card: dict[str, Any] = {"networkIP": f"10.0.0.{number}"}
    if outside:
        card["accessConfigs"] = [{"natIP": f"192.0.2.{number}"}]
    return {"networkInterfaces": [card]}


@contextlib.contextmanager
def serving(compute: FakeCompute | None = None) -> Iterator[FakeCompute]:
    """Run the service on a free loopback port."""
    compute = compute or FakeCompute()
    one_at_a_time = threading.Lock()

    class Handler(loopback.Handler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536  # one packet for head and body, because two cost 40 ms

        def _answer(self) -> None:
            body = self.read_json()
            with one_at_a_time:
                answer = compute.answer(self.command, self.path, body)
            if answer is None:
                self.close_connection = True
                return
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            self.send_document(content, status)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815  the names of the library

    with loopback.serve(Handler) as compute.address:
        yield compute


def connect(compute: FakeCompute) -> ComputeClient:
    """Return the real client, connected to this service."""
    from google.auth.credentials import AnonymousCredentials

    google = RestClient(AnonymousCredentials(), address=compute.address, total_s=float("inf"))
    return ComputeClient(PROJECT, google=google, clock=compute.clock)
