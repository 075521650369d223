"""The app on a fake Google Cloud, for the tests of its TPU screens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.cloud import tpu_v2
from textual.pilot import Pilot

from tests.support.fake_cloud import FakeCloud, Made, channel
from tests.support.fake_remote import node
from tests.support.tutor import driven, settle, write_checks, write_lessons
from tpustarter.cloud.api import tpu_client
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.learning.progress import course
from tpustarter.tui.app.app import TpustarterApp

PLACE = "projects/my-project/locations/us-central1-b"


def configure(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Configure a project and a zone, and hide this machine's own settings."""
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", tpu_client.ENDPOINT):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(home / "gcloud"))
    monkeypatch.setenv("CLOUDSDK_CORE_PROJECT", "my-project")
    monkeypatch.setenv("CLOUDSDK_COMPUTE_ZONE", "us-central1-b")


def connecting(cloud: FakeCloud) -> Callable[[str, Any], TpuClient]:
    """Return a function that creates clients of this cloud."""

    def connect(name: str, clock: Any) -> TpuClient:
        return TpuClient(name, channel=channel(cloud), clock=clock, read_s=5.0)

    return connect


@contextlib.asynccontextmanager
async def app_of(
    cloud: FakeCloud, folder: Path, *, size: tuple[int, int] = (80, 24)
) -> AsyncGenerator[Pilot[None]]:
    """Start the app with clients of this cloud."""
    lessons, checks = write_lessons(folder / "lessons"), write_checks(folder / "checks")
    course.choose_path("laptop")
    app = TpustarterApp(
        lessons=lessons, checks=checks, connect=connecting(cloud), clock=cloud.clock
    )
    try:
        async with driven(app, size, notifications=True) as pilot:
            await settle(pilot)
            yield pilot
    finally:
        app.live.release()


def add(cloud: FakeCloud, **fields: Any) -> Any:
    """Add a node to the cloud, and return it."""
    one = node(**fields)
    cloud.nodes[one.name] = one
    return one


def made(cloud: FakeCloud, name: str, state: str, error: tuple[int, str] | None = None) -> None:
    """Add a queued resource that stays in one state."""
    message = tpu_v2.QueuedResource(
        name=f"{PLACE}/queuedResources/{name}",
        spot=tpu_v2.QueuedResource.Spot(),
        tpu=tpu_v2.QueuedResource.Tpu(
            node_spec=[
                tpu_v2.QueuedResource.Tpu.NodeSpec(
                    parent=PLACE,
                    node_id=name,
                    node=tpu_v2.Node(accelerator_type="v6e-8", runtime_version="v2-alpha-tpuv6e"),
                )
            ]
        ),
    )
    steps = ((0.0, state),)
    cloud.made[message.name] = Made(message, cloud.clock.now(), steps, error)


def text_of(seen: str) -> str:
    """Return a screen as one line, so that line breaks do not hide a sentence."""
    return " ".join(seen.replace("│", " ").split())
