"""The options of `tpustarter check --all-hosts`, and the run that they start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

import click

from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.cli.parameters import FiniteRange, refuse_typed_options
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import escape_text

if TYPE_CHECKING:
    from tpustarter.checking.machine_check import MachineCheck
    from tpustarter.slices.slice_check import OtherHostEnd, SliceRequest

_Function = TypeVar("_Function", bound=Callable[..., object])

ENGINES = ("gcloud", "ssh", "slurm", "mpi", "ray", "gke")


@dataclass(frozen=True)
class SliceOptions:
    """The multi-host options, with click's parameter names as fields."""

    all_hosts: bool
    coordinator: str | None
    hosts: int | None
    host: int | None
    wait_s: float
    start: str | None
    on: str | None
    settings: tuple[str, ...]
    yes: bool


NAMES = tuple(one.name for one in fields(SliceOptions))
ONLY_ALL_HOSTS = "only works with --all-hosts"

_OPTIONS = (
    click.option(
        "--all-hosts",
        is_flag=True,
        help="Check all hosts of a slice as one. Start this command on every host at the same "
        "time, or let --start do it. Host 0 prints the report.",
    ),
    click.option(
        "--coordinator",
        metavar="HOST:PORT",
        help="With --all-hosts: the address of host 0, where JAX detects none.",
    ),
    click.option(
        "--hosts",
        type=click.IntRange(1, 4096),
        metavar="N",
        help="With --all-hosts: the number of hosts, where JAX detects none.",
    ),
    click.option(
        "--host",
        type=click.IntRange(0, 4095),
        metavar="I",
        help="With --all-hosts: the number of this host, from 0, where JAX detects none.",
    ),
    click.option(
        "--wait",
        "wait_s",
        type=FiniteRange(1, 3600),
        default=120,
        show_default=True,
        metavar="SECONDS",
        help="With --all-hosts: how long to wait for the other hosts.",
    ),
    click.option(
        "--start",
        type=click.Choice(ENGINES),
        help="With --all-hosts: start it on every host from here, after it has shown the command. "
        "The hosts need nothing but the Python under test; --python is its path there.",
    ),
    click.option(
        "--on",
        metavar="NAMES",
        help="With --start: the hosts for ssh and mpi, separated by commas; the name of the TPU "
        "for gcloud.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="With --start: an option of what starts it, such as zone=us-east1-d for gcloud.",
    ),
    click.option("--yes", is_flag=True, help="With --start: start it without asking."),
)


def add_all_hosts_options(function: _Function) -> _Function:
    """Add the multi-host options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def refuse_contradictions(request: CheckRequest, given: SliceOptions) -> None:
    """Raise UsageError for options that contradict each other."""
    if not given.all_hosts:
        refuse_typed_options(NAMES, ONLY_ALL_HOSTS)
        return
    if request.framework not in (None, "jax"):
        raise click.UsageError("--all-hosts runs the checks of JAX alone")
    hosts, host = given.hosts, given.host
    if hosts is not None and host is not None and host >= hosts:
        raise click.UsageError(f"--host is {host}, expected 0 to {hosts - 1}")
    if given.start and host is not None:
        raise click.UsageError("--host is what each host gets from --start, so leave it out")
    refuse_unnamed_hosts(given.start, given.on)
    parse_settings(given.settings)


def refuse_unnamed_hosts(start: str | None, on: str | None) -> None:
    """Raise UsageError for a start that needs names of hosts, without them."""
    names = split_names(on)
    if start == "gcloud" and len(names) != 1:
        raise click.UsageError("--start gcloud needs --on with the name of the TPU")
    if start == "ssh" and not names:
        raise click.UsageError("--start ssh needs --on with the names of the hosts")


def make_machine_check(request: CheckRequest, given: SliceOptions) -> MachineCheck:
    """Return the run that the options describe, after the user has confirmed any remote start."""
    if not given.all_hosts:
        from tpustarter.checking.machine_check import MachineCheck

        return MachineCheck(request)
    from tpustarter.slices.slice_check import SliceCheck, SliceRequest

    where = SliceRequest(given.coordinator, given.hosts, given.host, given.wait_s)
    return _start(request, where, given, given.start) if given.start else SliceCheck(request, where)


def find_end_on_other_host(check: MachineCheck) -> OtherHostEnd | None:
    """Return the run's end on a host other than host 0, or None on host 0."""
    from tpustarter.slices.slice_check import SliceCheck

    return check.host_end if isinstance(check, SliceCheck) else None


def parse_settings(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--set` by key; raises UsageError for one that is not KEY=VALUE."""
    for setting in settings:
        if not setting.partition("=")[0] or "=" not in setting:
            raise click.UsageError(f"--set is `{setting}`, expected KEY=VALUE")
    return dict(setting.split("=", 1) for setting in settings)


def split_names(on: str | None) -> tuple[str, ...]:
    """Return the names of `--on`."""
    return tuple(filter(None, (on or "").split(",")))


def _start(
    request: CheckRequest, where: SliceRequest, given: SliceOptions, engine_name: str
) -> MachineCheck:
    from tpustarter.slices.remote_slice_check import RemoteSliceCheck
    from tpustarter.slices.start_options import StartOptions, make_engine
    from tpustarter.slices.starting import launch_request

    engine = make_engine(
        StartOptions(
            engine=engine_name,
            names=split_names(given.on),
            settings=parse_settings(given.settings),
            hosts=given.hosts,
            coordinator=given.coordinator or "",
            python=request.python or "python3",
        )
    )
    check = RemoteSliceCheck(_without_python(request), where, engine)
    commands = check.prepare()
    if engine.name == "gke":
        click.echo(commands)
        sys.exit(ExitCode.OK)
    confirm_start(launch_request.format_script(commands), yes=given.yes)
    return check


def _without_python(request: CheckRequest) -> CheckRequest:
    return replace(request, python=None)


def confirm_start(script: str, *, yes: bool) -> None:
    """Show the commands that start something on every host, and ask whether to run them."""
    click.echo("This starts the run on every host:", err=True)
    for line in script.splitlines():
        click.echo(escape_text(line), err=True)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Problem(
            "there is no terminal to ask on, so nothing was started",
            hint="add `--yes` once you have read the command above",
            code=ExitCode.USAGE,
        )
    if not click.confirm("Start it?", err=True):
        raise Problem("nothing was started", code=ExitCode.INTERRUPTED)
