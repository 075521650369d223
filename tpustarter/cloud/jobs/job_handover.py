"""Describe a job for another tool: as a SkyPilot task, a Kinetic call, or a JobSet for GKE.

The names that these tools have for TPUs are in `handover.yml`, with a source for each row. Nothing
is sent.
Sources: https://docs.skypilot.co/en/latest/reference/yaml-spec.html
https://github.com/keras-team/kinetic and https://jobset.sigs.k8s.io/docs/overview/ (read 2026-11).
"""

from __future__ import annotations

import functools
import io
import math
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.cloud.create.tpu_request import find_region
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_files, job_text
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_run import WorkerEnvironment
from tpustarter.cloud.jobs.job_start import JobRequest
from tpustarter.core import yaml_rows
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.yaml_rows import Texts
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType
from tpustarter.slices.starting import gke_launcher
from tpustarter.slices.starting.gke_launcher import SliceNodes
from tpustarter.text import phrases

FILE = Path(__file__).with_name("handover.yml")
ARCHIVE = "code.tar.gz"
COMMENT_WIDTH = 76
IMAGE = "python:{}"
"""Docker's own image of a Python version."""
DEFAULT_PYTHON = "3.12"


class ToolNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The names that other tools have for a generation."""

    sources: Texts
    gke: str = ""
    skypilot: bool = False
    kinetic: str = ""
    kinetic_chips: tuple[int, ...] = ()


@functools.cache
def read_tool_names() -> dict[str, ToolNames]:
    """Return the rows by generation; raises Problem if a row is invalid."""
    return yaml_rows.read_table(FILE, ToolNames)


@dataclass(frozen=True)
class HandedJob:
    """A job, and the TPU that another tool gets for it."""

    order: JobRequest
    files: JobFiles
    environment: WorkerEnvironment | None
    type: TpuType
    project: str
    zone: str
    is_spot: bool
    slices: int = 1

    @property
    def names(self) -> ToolNames | None:
        """Return other tools' names of the TPU's generation; None if nothing is known."""
        return read_tool_names().get(self.type.generation.name)

    @property
    def command(self) -> str:
        """Return the command as shell text."""
        return worker_connection.quote_command(self.order.command)

    @property
    def install_command(self) -> str:
        """Return the command that installs the environment's packages; empty without one."""
        if self.environment is None:
            return ""
        return f"python3 -m pip install {shlex.join(self.environment.wheel)}"


def format_handover(tool: str, job: HandedJob) -> str:
    """Return a job as the text that a tool of `TOOLS` reads, after comments with its commands.

    Raises:
        Problem: The tool cannot run such a job.
    """
    return TOOLS[tool](job)


def _comment(commands: Sequence[str], *notes: str) -> str:
    """Return commands, each on a line, and sentences, as comments."""
    lines = [*commands]
    for note in filter(None, notes):
        lines += textwrap.wrap(note, COMMENT_WIDTH)
    return "".join(f"# {line}\n" for line in lines)


def _dump(*documents: Mapping[str, object]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts of several lines as blocks."""

    def represent(_: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None
        return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, width=math.inf)


def _refuse(job: HandedJob, tool: str, known: str = "") -> Problem:
    hint = f"it knows {known}" if known else "`tpustarter tpu job` runs it on a TPU of your own"
    return Problem(
        f"nothing is published about {job.type.name} in {tool}", hint=hint, code=ExitCode.USAGE
    )


def _require_one_slice(job: HandedJob, tool: str) -> None:
    if job.slices > 1:
        raise Problem(
            f"`{job.order.tpu}` has {job.slices} slices, and {tool} takes one",
            hint="`--print jobset` takes several",
            code=ExitCode.USAGE,
        )


def _list_secrets(job: HandedJob, tool: str, unless: str) -> str:
    """Return a warning about files that only this program leaves out; empty without any."""
    left_out = [one for one in job.files.left_out if one.why == job_files.LEFT_OUT_BY_NAME]
    names = [ascii(one.path) for one in left_out]
    if not names:
        return ""
    return f"{tool} sends {phrases.join_words(names)} too, unless {unless}."


def _format_skypilot(job: HandedJob) -> str:
    """Return a SkyPilot task, which leaves out what git ignores by itself."""
    _require_one_slice(job, "a SkyPilot task")
    if job.names is None or not job.names.skypilot:
        raise _refuse(job, "SkyPilot")
    name, file = job.order.tpu, f"{job.order.tpu}.sky.yaml"
    down = " --down" if job.order.give_back else ""
    commands = [f"sky launch -c {name}{down} {file}", f"rsync -Pavz {name}:sky_workdir/PATTERN ."]
    note = ""
    if job.is_spot or job.order.again:
        commands = [f"sky jobs launch {file}"]
        note = (
            "SkyPilot gets another TPU after each pre-emption, and deletes the last one with all "
            "that is on it, so let the program write its results to a bucket."
        )
    resources: dict[str, object] = {
        "infra": f"gcp/{find_region(job.zone)}/{job.zone}" if job.zone else "gcp",
        "accelerators": f"tpu-{job.type.accelerator_type}",
        "use_spot": job.is_spot,
    }
    if version := job.type.generation.runtime_version:
        resources["accelerator_args"] = {"runtime_version": version}
    task: dict[str, object] = {
        "name": name,
        "workdir": str(job.files.folder),
        "resources": resources,
    }
    if job.install_command:
        task["setup"] = job.install_command
    task["run"] = job.command
    secrets = _list_secrets(job, "SkyPilot", ".skyignore names that")
    return _comment(commands, note, secrets) + _dump(task)


def _format_kinetic(job: HandedJob) -> str:
    """Return a Python program that calls Kinetic."""
    _require_one_slice(job, "Kinetic")
    names = job.names
    if names is None or not names.kinetic:
        raise _refuse(job, "Kinetic")
    if job.type.chips not in names.kinetic_chips:
        sizes = [str(chips) for chips in names.kinetic_chips]
        title = job.type.generation.title
        raise _refuse(job, "Kinetic", f"{title} with {phrases.join_words(sizes, 'or')} chips")
    arguments = {
        "accelerator": f"tpu-{names.kinetic}-{job.type.chips}",
        "project": job.project,
        **({"zone": job.zone} if job.zone else {}),
        **({"spot": True} if job.is_spot else {}),
    }
    file = f"{job.order.tpu}_kinetic.py"
    packages = shlex.join(job.environment.wheel) if job.environment else ""
    lines = _comment(
        ["kinetic up", f"python {file}", "kinetic down"],
        "The first makes a cluster, which is billed until the last. Kinetic installs JAX, and what "
        "requirements.txt in the folder of the code names"
        + (packages and f": {packages}")
        + ". On "
        "several hosts it runs the program once, and Pathways gives it all devices. What the "
        "program writes below KINETIC_OUTPUT_DIR is kept in a bucket.",
        _list_secrets(job, "Kinetic", "you move that elsewhere"),
    )
    typed = "".join(f"    {key}={value!r},\n" for key, value in arguments.items())
    words = job.order.command
    command = ["bash", "-c", *words] if len(words) == 1 else [*words]
    return (
        f"{lines}import subprocess\n\nimport kinetic\n\n\n@kinetic.run(\n{typed})\n"
        f"def run_job():\n    return subprocess.run({command!r}, check=True).returncode\n\n\n"
        'if __name__ == "__main__":\n    run_job()\n'
    )


def _format_job_set(job: HandedJob) -> str:
    """Return a JobSet, and the folder in a ConfigMap."""
    if job.names is None or not job.names.gke:
        raise _refuse(job, "GKE")
    name = job.order.tpu
    script = ["set -e", "mkdir /job", "cd /job", f"tar -xzf {gke_launcher.PLACE}/{ARCHIVE}"]
    script += [job.install_command] if job.install_command else []
    version = job.environment.version if job.environment else DEFAULT_PYTHON
    container: dict[str, object] = {
        "name": "job",
        "image": IMAGE.format(version),
        "command": ["bash", "-c", "\n".join([*script, job.command, ""])],
        "ports": [{"containerPort": port, "protocol": "TCP"} for port in (8471, 8080)],
    }
    hosts = job.type.hosts
    topology = tpus.find_topology(job.type.name).topology_name.partition(":")[2]
    nodes = SliceNodes(
        job.names.gke, topology, hosts, job.type.chips // hosts, job.slices, is_spot=job.is_spot
    )
    made = gke_launcher.build_job_set(name, container, nodes, restarts=job.order.again)
    code = gke_launcher.build_config_map(name, ARCHIVE, _pack(job.files))
    selector = f"--selector=jobset.sigs.k8s.io/jobset-name={name}"
    lines = _comment(
        [
            "kubectl create --filename=FILE",
            f"kubectl logs --follow --prefix --max-log-requests=1000 {selector}",
            f"kubectl delete jobset/{name} configmap/{name}",
        ],
        "FILE is this file; `kubectl apply` has no room for the code. A pod's files go with it, so "
        "let the program write its results to a bucket.",
        "The job starts anew after any failure, not only a pre-emption." if job.order.again else "",
    )
    return lines + _dump(made, code)


def _pack(files: JobFiles) -> bytes:
    stream = io.BytesIO()
    job_files.write_archive(files, stream)
    data = stream.getvalue()
    if len(data) > gke_launcher.MAX_BYTES:
        raise Problem(
            f"the folder has {job_text.format_size(len(data))} when packed, and a ConfigMap takes "
            f"{job_text.format_size(gke_launcher.MAX_BYTES)}",
            hint="name a smaller folder with `--folder`, let git ignore what is no code, or build "
            "an image of your own with it",
            code=ExitCode.USAGE,
        )
    return data


TOOLS: Mapping[str, Callable[[HandedJob], str]] = {
    "skypilot": _format_skypilot,
    "kinetic": _format_kinetic,
    "jobset": _format_job_set,
}
"""The tools that can take over a job, each with its format."""
