"""`tpustarter` without a command: what this machine is, and what to do next, in plain text."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tpustarter.checking import interpreters, plan, words
from tpustarter.invocation import command
from tpustarter.machine import host
from tpustarter.problem import Problem

_NEXT = (
    ("check", "prove what works here"),
    ("learn", "the lessons"),
    ("rehearse", "compile for a TPU that is not here"),
    ("--help", "every command"),
)


def overview() -> None:
    """Print this machine, the Python that would be tested, and the next commands."""
    machine = host.Machine()
    click.echo("This machine")
    try:
        chosen, others = interpreters.choose(None, os.environ, Path.cwd())
        run_plan = plan.make(machine, gpu_plugin=chosen.has_gpu_plugin)
        frameworks = ", ".join(chosen.frameworks) or "no framework yet"
        instead = f"{words.no_tpu(plan.host_of(run_plan))}; checks run on "
        on_tpu = run_plan.platform == "tpu"
        click.echo(f"  Devices  {'' if on_tpu else instead}{run_plan.where}")
        click.echo(f"  Python   {chosen.path} ({chosen.why}): {frameworks}")
        for interpreter in others:
            click.echo(f"  also     {interpreter.path}: {', '.join(interpreter.frameworks)}")
        if run_plan.blocked:
            click.echo(f"  Note     {run_plan.blocked.what}")
    except Problem as problem:
        click.echo(f"  Python   {problem.what}")
    click.echo("\nNext")
    for word, does in _NEXT:
        click.echo(f"  {command()} {word:<11} {does}")
