"""The user's options for starting a run on all hosts with ssh, gcloud, Slurm and the like."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpustarter.core.problem import Problem
from tpustarter.slices.remote_slice_check import Engine
from tpustarter.slices.starting import gcloud_launcher, mpi_launcher, ssh_launcher
from tpustarter.slices.starting.launch_request import PORT, LaunchRequest

DESCRIBE_S = 60.0
"""Longest wait for gcloud to report the number of a TPU's hosts."""


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """The command-line options for starting a run on all hosts."""

    engine: str
    """The value of `--start`."""
    names: tuple[str, ...] = ()
    """The names given with `--on`: one for gcloud, at least one for ssh."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """The settings given with `--set`."""
    hosts: int | None = None
    """The number of hosts; None to detect it."""
    coordinator: str = ""
    python: str = "python3"

    @property
    def words(self) -> tuple[str, ...]:
        """The equivalent `tpustarter check` command, without the number of hosts."""
        return self.list_words("check")

    def list_words(self, command: str) -> tuple[str, ...]:
        """Return the words of `tpustarter check` or `tpustarter watch` with these options."""
        settings = [word for one in self.settings.items() for word in ("--set", "=".join(one))]
        names = ("--on", ",".join(self.names)) if self.names else ()
        return ("tpustarter", command, "--all-hosts", "--start", self.engine, *names, *settings)


def make_engine(options: StartOptions) -> Engine:
    """Return the engine for these options, querying gcloud if the number of hosts is not given.

    Raises:
        Problem: The number of hosts cannot be determined, or ssh does not know the first host.
    """
    engine = Engine(
        name=options.engine,
        hosts=options.names if options.engine in ("ssh", "mpi") else (),
        count=options.hosts or len(options.names) or None,
        port=_port(options.coordinator),
        python=options.python,
        options=_add_places(options),
    )
    if engine.name == "gcloud" and options.hosts is None:
        return replace(engine, count=_count_hosts(engine))
    return engine


def _port(coordinator: str) -> int:
    port = coordinator.rpartition(":")[2]
    return int(port) if port.isdigit() else PORT


def _add_places(options: StartOptions) -> dict[str, str]:
    settings, names = options.settings, options.names
    match options.engine:
        case "gcloud":
            return {"tpu": names[0], **settings}
        case "ssh":
            coordinator = options.coordinator.rpartition(":")[0]
            coordinator = coordinator or ssh_launcher.find_coordinator(
                names[0], settings.get("ssh", "")
            )
            return {"coordinator": coordinator, **settings}
        case "mpi":
            return {"version": mpi_launcher.find_version(), **settings}
        case _:
            return {**settings}


def _count_hosts(engine: Engine) -> int:
    words = gcloud_launcher.format_count_command(
        LaunchRequest(archive=Path(), options=engine.options)
    )
    try:
        done = subprocess.run(words, capture_output=True, timeout=DESCRIBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Problem(f"gcloud cannot be asked: {error}", hint="give `--hosts N`") from error
    if count := gcloud_launcher.count_tpu_hosts(done.stdout):
        return count
    detail = done.stderr.decode("utf-8", "replace").strip()
    raise Problem(
        f"gcloud does not say how many hosts `{engine.options['tpu']}` has",
        detail=detail[-2000:],
        hint="give `--hosts N`, and `--set zone=ZONE` if none is configured",
    )
