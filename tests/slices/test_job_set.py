"""The JobSet for GKE, and the probe in its ConfigMap."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tpustarter.core.problem import Problem
from tpustarter.running import probe_archive
from tpustarter.slices.starting import gke_launcher
from tpustarter.slices.starting.launch_request import LaunchRequest

OPTIONS = {"image": "example/jax:1", "accelerator": "tpu-v6e-slice", "topology": "4x4"}


def request(folder: Path, **options: str) -> LaunchRequest:
    """Return a request with a small archive."""
    path = folder / "probe.pyz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("__main__.py", "print(1)")
        file.writestr("more.pyc", "bytecode")
    return LaunchRequest(archive=path, options={**OPTIONS, **options})


def test_manifest_has_a_pod_for_each_host(tmp_path: Path) -> None:
    """Sixteen chips are four hosts, and none of them is started a second time."""
    text = gke_launcher.format_manifest(request(tmp_path, namespace="n", name="mine"))

    job_set, config_map = yaml.safe_load_all(text)
    (job,) = job_set["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]
    assert (4, 4, 0) == (spec["parallelism"], spec["completions"], spec["backoffLimit"])
    assert {"name": "mine", "namespace": "n"} == config_map["metadata"]
    (volume,) = spec["template"]["spec"]["volumes"]
    assert "mine" == volume["configMap"]["name"]
    data = base64.b64decode(config_map["binaryData"]["probe.pyz"])
    assert ["__main__.py"] == zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_job_set_fits_its_schema(tmp_path: Path) -> None:
    """The schema is the one of Kubeflow's models, which are made from JobSet's own."""
    models = pytest.importorskip(
        "kubeflow_trainer_api.models",
        reason="The models of a JobSet are not installed here; the lane `slices` installs them.",
    )
    made = gke_launcher.make_job_set(request(tmp_path, namespace="n"))

    read = models.JobsetV1alpha2JobSet.from_dict(made)

    assert made == read.to_dict()  # which leaves out the fields that it does not know


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"topology": "2x2x4", "chips": "4"}, 4),
        ({"topology": "4x8", "chips": "8"}, 4),
        ({"topology": "2x2"}, 1),
        ({"topology": "16x16"}, 64),
    ],
)
def test_topology_makes_the_number_of_hosts(
    tmp_path: Path, options: dict[str, str], expected: int
) -> None:
    """The number of hosts is the slice's chips divided by the chips of a host."""
    made = gke_launcher.make_job_set(request(tmp_path, **options))

    (job,) = made["spec"]["replicatedJobs"]
    assert expected == job["template"]["spec"]["completions"]


@pytest.mark.parametrize(
    "options",
    [{"image": ""}, {"topology": "4y4"}, {"topology": "1x1"}, {"topology": "0x4"}],
)
def test_request_without_an_answer_is_a_problem(tmp_path: Path, options: dict[str, str]) -> None:
    """A request that Kubernetes would refuse is a Problem at once."""
    with pytest.raises(Problem):
        gke_launcher.format_manifest(request(tmp_path, **options))


def test_packed_probe_fits_and_runs(tmp_path: Path) -> None:
    """The packed probe runs, and fills less than two thirds of a ConfigMap."""
    packed = tmp_path / "packed.pyz"
    packed.write_bytes(
        gke_launcher.repack_probe_zip(probe_archive.build_probe_archive(tmp_path / "probe.pyz"))
    )

    done = subprocess.run([sys.executable, "-I", "-S", packed], capture_output=True, check=False)

    assert 2 == done.returncode
    assert packed.stat().st_size < gke_launcher.MAX_BYTES * 2 / 3
