"""A job for SkyPilot, Kinetic and GKE: what is printed, and how those tools read it."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.support.places import GOLDEN, SUPPORT
from tests.support.processes import HANG_S
from tpustarter.cli.tpu.job import job_command
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.jobs import job_files, job_handover
from tpustarter.cloud.jobs.job_handover import HandedJob
from tpustarter.cloud.jobs.job_start import JobRequest
from tpustarter.core.problem import Problem
from tpustarter.machine import tpus
from tpustarter.setup.environment.worker_environment import make_worker_environment

OTHER_TOOLS = os.environ.get("TPUSTARTER_OTHER_TOOLS_PYTHON")
needs_other_tools = pytest.mark.skipif(
    OTHER_TOOLS is None,
    reason="TPUSTARTER_OTHER_TOOLS_PYTHON names no Python with skypilot, keras-kinetic and "
    "kubeflow-trainer-api; the lane `cloud` makes one.",
)
TYPES = {
    "skypilot": ("v2-8", "v3-8", "v4-32", "v5e-8", "v5p-16", "v6e-1", "v6e-256"),
    "kinetic": ("v3-8", "v4-8", "v5e-1", "v5e-256", "v5p-16", "v5p-64", "v6e-8", "v6e-16"),
    "jobset": ("v4-8", "v5e-1", "v5e-8", "v5e-16", "v5p-128", "v6e-8", "v6e-16", "tpu7x-8"),
}
"""Types that each tool knows: on one host and on several."""
ORDER = JobRequest("bert", ("python3", "train.py", "--name", "it's a test"))
ENTRY = LedgerEntry(
    *("my-project", "us-east5-a", "bert", "v6e-16", 16, "spot", "2026-11-22T16:00:00+00:00")
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: code, and a file that is likely to hold secrets."""
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / ".env").write_text("TOKEN=1\n")
    os.utime(tmp_path / "train.py", (0, 0))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def handed(type_name: str, order: JobRequest = ORDER, **more: Any) -> HandedJob:
    """Return a job with the environment of JAX."""
    job = HandedJob(
        order,
        job_files.find_job_files(Path()),
        make_worker_environment("jax"),
        tpu_request.parse_type(type_name),
        "my-project",
        "us-east5-a",
        is_spot=False,
    )
    return replace(job, **more)


def ask_tool(tool: str, texts: list[str]) -> list[dict[str, Any]]:
    """Return the tool's own parse of texts."""
    assert OTHER_TOOLS
    done = subprocess.run(
        [OTHER_TOOLS, SUPPORT / "read_handover.py", tool],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        env={**os.environ, "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("tool", job_handover.TOOLS)
def test_printed_job_is_golden(tool: str, pytestconfig: pytest.Config) -> None:
    """The printed job is the golden one, except for the packed folder."""
    job = handed("v6e-16", replace(ORDER, again=2), is_spot=True)
    text = job_handover.format_handover(tool, job).partition("binaryData")[0]
    golden = GOLDEN / f"handover-{tool}.txt"
    if pytestconfig.getoption("--golden"):
        golden.write_text(text, encoding="utf-8")

    assert golden.read_text(encoding="utf-8") == text


def test_job_set_unpacks_and_runs_the_folder(tmp_path: Path) -> None:
    """The shell text of the container runs here as it would there, without the installation."""
    order = replace(ORDER, command=("cat train.py; test ! -e .env",))
    text = job_handover.format_handover("jobset", handed("v6e-8", order, environment=None))
    job_set, config_map = yaml.safe_load_all(text)
    (group,) = job_set["spec"]["replicatedJobs"]
    (container,) = group["template"]["spec"]["template"]["spec"]["containers"]
    place = tmp_path / "pod"
    place.mkdir()
    archive = base64.b64decode(config_map["binaryData"]["code.tar.gz"])
    (place / "code.tar.gz").write_bytes(archive)
    program, option, script = container["command"]
    script = script.replace("/tpustarter", str(place)).replace("/job", str(place / "job"))

    done = subprocess.run([program, option, script], capture_output=True, text=True, check=True)

    assert "print(1)\n" == done.stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert ["train.py"] == tar.getnames()


@pytest.mark.parametrize(
    ("tool", "job"),
    [
        ("skypilot", {"type_name": "tpu7x-8"}),
        ("skypilot", {"type_name": "v6e-8", "slices": 2}),
        ("kinetic", {"type_name": "v5p-8"}),
        ("kinetic", {"type_name": "v6e-16", "slices": 2}),
        ("kinetic", {"type_name": "v2-8"}),
        ("jobset", {"type_name": "v3-8"}),
    ],
)
def test_unknown_tpu_is_refused(tool: str, job: dict[str, Any]) -> None:
    """A TPU that the tool doesn't know is refused, and nothing is printed."""
    with pytest.raises(Problem):
        job_handover.format_handover(tool, handed(**job))


def test_large_folder_is_refused(folder: Path) -> None:
    """A folder that is too large for a ConfigMap is refused."""
    (folder / "data.bin").write_bytes(os.urandom(1 << 20))

    with pytest.raises(Problem):
        job_handover.format_handover("jobset", handed("v6e-8"))


def test_ledger_knows_the_tpu() -> None:
    """Its type, zone and tier; without them the type has to be typed, and nothing is sent."""
    words = ["bert", "--project", "my-project", "--print", "skypilot"]
    unknown = CliRunner().invoke(job_command, [*words, "--", "true"])
    ledger.add_ledger_entry(ENTRY)
    known = CliRunner().invoke(job_command, [*words, "--", "true"])
    typed = CliRunner().invoke(job_command, [*words, "--type", "v5p-8", "--", "true"])

    assert isinstance(unknown.exception, Problem)
    resources = yaml.safe_load(known.output)["resources"]
    assert ("tpu-v6e-16", True) == (resources["accelerators"], resources["use_spot"])
    assert "gcp/us-east5/us-east5-a" == resources["infra"]
    assert "tpu-v5p-8" == yaml.safe_load(typed.output)["resources"]["accelerators"]


@needs_other_tools
def test_skypilot_reads_the_same_job() -> None:
    """SkyPilot's own parser and command line read the same job from the task."""
    orders = [ORDER, replace(ORDER, give_back=True), replace(ORDER, again=1)]
    jobs = [
        handed(name, order, is_spot=bool(order.again))
        for name in TYPES["skypilot"]
        for order in orders
    ]
    answers = ask_tool("skypilot", [job_handover.format_handover("skypilot", job) for job in jobs])

    assert [
        {
            "file": ["bert.sky.yaml"],
            "name": "bert",
            "run": job.command,
            "setup": "python3 -m pip install 'jax[tpu]'",
            "accelerator": f"tpu-{job.type.accelerator_type}",
            "zone": "us-east5-a",
            "spot": job.is_spot,
            "version": job.type.generation.runtime_version,
        }
        for job in jobs
    ] == answers


@needs_other_tools
def test_kinetic_reads_the_same_tpu() -> None:
    """The slice has the chips, the topology and the label of ours."""
    jobs = [handed(name, is_spot=True) for name in TYPES["kinetic"]]
    answers = ask_tool("kinetic", [job_handover.format_handover("kinetic", job) for job in jobs])

    for job, answer in zip(jobs, answers, strict=True):
        assert "RemoteCallable" == answer["callable"]
        assert ("my-project", "us-east5-a", True) == tuple(
            answer[key] for key in ("project", "zone", "spot")
        )
        assert job.type.chips == answer["chips"]
        assert tpus.find_topology(job.type.name).topology_name.endswith(f":{answer['topology']}")
        assert job.names
        assert job.names.gke in ("", answer["gke"])


@needs_other_tools
def test_job_set_fits_its_schema() -> None:
    """The schema is the one of Kubeflow's models, which are made from JobSet's own."""
    jobs = [handed(name, is_spot=True, slices=2) for name in TYPES["jobset"]]
    texts = [job_handover.format_handover("jobset", job) for job in jobs]

    made = [next(yaml.safe_load_all(text)) for text in texts]
    assert made == ask_tool("jobset", texts)
    for job, one in zip(jobs, made, strict=True):
        (group,) = one["spec"]["replicatedJobs"]
        spec = group["template"]["spec"]
        assert (job.type.hosts,) * 2 == (spec["completions"], spec["parallelism"])
        assert 2 == group["replicas"]
        (container,) = spec["template"]["spec"]["containers"]
        chips = container["resources"]["limits"]["google.com/tpu"]
        assert job.type.chips == chips * job.type.hosts
