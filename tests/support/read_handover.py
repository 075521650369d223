"""Reads jobs that were printed for other tools with the tools' own parsers; nothing is sent.

    PYTHON read_handover.py skypilot <documents.json

PYTHON has skypilot, keras-kinetic and kubeflow-trainer-api, and needs nothing of this program. The
input is a list of texts, and the output a list with what the tool read from each.
"""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import yaml


def read_skypilot(text: str) -> dict[str, Any]:
    """Return a task as SkyPilot reads it; its own command line takes the first command."""
    import click
    import sky
    from sky.client.cli import command

    program: Any = command.cli
    words = shlex.split(text.splitlines()[0])[2:]
    while isinstance(program, click.Group):
        program = program.get_command(click.Context(program), words.pop(0))
    context = program.make_context("sky", words)
    task = sky.Task.from_yaml_config(yaml.safe_load(text))
    (resources,) = task.resources
    (accelerator,) = resources.accelerators
    return {
        "file": [*context.params["entrypoint"]],
        "name": task.name,
        "run": task.run,
        "setup": task.setup,
        "accelerator": accelerator,
        "zone": resources.zone,
        "spot": resources.use_spot,
        "version": resources.accelerator_args["runtime_version"],
    }


def read_kinetic(text: str) -> dict[str, Any]:
    """Return the call as Kinetic reads it; the decorated function is not called."""
    import kinetic
    from kinetic.core import accelerators

    calls: list[dict[str, Any]] = []
    run = kinetic.run

    def record(**arguments: Any) -> Any:
        calls.append(arguments)
        return run(**arguments)

    kinetic.run = record
    names: dict[str, Any] = {"__name__": "job"}
    exec(compile(text, "job", "exec"), names)
    kinetic.run = run
    (arguments,) = calls
    tpu = accelerators.parse_accelerator(arguments["accelerator"])
    return {
        **arguments,
        "callable": type(names["run_job"]).__name__,
        "chips": tpu.chips,
        "topology": tpu.topology,
        "gke": tpu.gke_accelerator,
    }


def read_jobset(text: str) -> dict[str, Any]:
    """Return the JobSet without the fields that its published schema does not have."""
    from kubeflow_trainer_api import models

    job_set, _ = yaml.safe_load_all(text)
    return models.JobsetV1alpha2JobSet.from_dict(job_set).to_dict()


if __name__ == "__main__":
    read = {"skypilot": read_skypilot, "kinetic": read_kinetic, "jobset": read_jobset}[sys.argv[1]]
    answers = [read(text) for text in json.load(sys.stdin)]
    print(json.dumps(answers), file=sys.__stdout__)
