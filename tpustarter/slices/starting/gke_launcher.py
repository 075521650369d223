"""Build a JobSet manifest for Google Kubernetes Engine, for the user to create with kubectl.

The manifest carries the probe's zip in a ConfigMap, because a container does not have the probe and
often cannot reach a package index. A ConfigMap holds at most 1 MiB, so the zip is repacked,
compressed and without bytecode. `kubectl apply` would keep a second copy in an annotation, which
holds at most 256 KiB, so the command is `kubectl create`. GKE names the hosts of a slice in
environment variables that JAX reads by itself.

Options of the request: `image`, with the Python under test; `accelerator`, such as tpu-v6e-slice;
`topology`, such as 4x4; `chips` per host (4); `name` and `namespace`.

Source: https://jobset.sigs.k8s.io/docs/overview/ and
https://cloud.google.com/kubernetes-engine/docs/how-to/tpus (read 2026-11).
"""

from __future__ import annotations

import base64
import io
import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.slices.starting.launch_request import LaunchRequest
from tpustarter.text import phrases

NAME = "tpustarter-check"
PLACE = "/tpustarter"
FILE = "probe.pyz"
MAX_BYTES = 1024 * 1024
"""Largest ConfigMap. Source: https://kubernetes.io/docs/concepts/configuration/configmap/"""
DEADLINE_S = 3600
"""Kubernetes ends even a run that is waiting for a host after this time: the chips cost money."""
CHIPS_PER_HOST = 4
DATE = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class SliceNodes:
    """The GKE nodes that a JobSet's pods need, one pod for each."""

    accelerator: str
    """The nodes' label, such as `tpu-v6e-slice`."""
    topology: str
    hosts: int
    chips: int
    """Chips per host."""
    slices: int = 1
    is_spot: bool = False


def format_manifest(request: LaunchRequest) -> str:
    """Return the JobSet and its ConfigMap as YAML, after comments with the commands that use them.

    Raises:
        Problem: An option is missing or malformed, or the probe is too large.
    """
    import yaml

    name = request.options.get("name") or NAME
    namespace = request.options.get("namespace")
    where = f" --namespace={namespace}" if namespace else ""
    selector = f"--selector=jobset.sigs.k8s.io/jobset-name={name}"
    steps = (
        f"kubectl create{where} --filename=FILE   (this file; `apply` has no room for the probe)",
        f"kubectl logs{where} --follow --prefix --max-log-requests=1000 {selector}",
        f"kubectl delete{where} jobset/{name} configmap/{name}",
    )
    documents = [make_job_set(request), make_config_map(request)]
    if namespace:
        for one in documents:
            as_object(one["metadata"])["namespace"] = namespace
    text = yaml.safe_dump_all(documents, sort_keys=False, width=math.inf)
    return "".join(f"# {step}\n" for step in steps) + text


def build_commands(request: LaunchRequest) -> str:
    """Return the manifest instead of commands; nothing is run."""
    return format_manifest(request)


def make_job_set(request: LaunchRequest) -> dict[str, object]:
    """Return the JobSet: one job with one pod per host, which is never retried."""
    options = request.options
    missing = [key for key in ("image", "accelerator", "topology") if not options.get(key)]
    if missing:
        raise Problem(f"a JobSet needs {phrases.join_words(missing)}", code=ExitCode.USAGE)
    chips = int(options.get("chips") or CHIPS_PER_HOST)
    count = request.count or _hosts(options["topology"], chips)
    nodes = SliceNodes(options["accelerator"], options["topology"], count, chips)
    container = {
        "name": "check",
        "image": options["image"],
        "command": [request.python, f"{PLACE}/{FILE}", "slice", "--no-lifeline"],
        "ports": [
            {"containerPort": port, "protocol": "TCP"} for port in (8471, 8080, request.port)
        ],
    }
    return build_job_set(
        options.get("name") or NAME, container, nodes, restarts=0, deadline_s=DEADLINE_S
    )


def build_job_set(
    name: str,
    container: Mapping[str, object],
    nodes: SliceNodes,
    *,
    restarts: int,
    deadline_s: int | None = None,
) -> dict[str, object]:
    """Return a JobSet with one pod for each host, which has the ConfigMap of the same name."""
    selector = {
        "cloud.google.com/gke-tpu-accelerator": nodes.accelerator,
        "cloud.google.com/gke-tpu-topology": nodes.topology,
    }
    if nodes.is_spot:
        selector["cloud.google.com/gke-spot"] = "true"
    container_in_pod = {
        **container,
        "resources": {"limits": {"google.com/tpu": nodes.chips}},
        "volumeMounts": [{"name": "sent", "mountPath": PLACE, "readOnly": True}],
    }
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": selector,
        "containers": [container_in_pod],
        "volumes": [{"name": "sent", "configMap": {"name": name}}],
    }
    job = {
        "parallelism": nodes.hosts,
        "completions": nodes.hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        **({"activeDeadlineSeconds": deadline_s} if deadline_s else {}),
        "template": {"spec": pod},
    }
    group = {"name": "slice", "replicas": nodes.slices, "template": {"spec": job}}
    annotation = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "annotations": {annotation: "cloud.google.com/gke-nodepool"},
        },
        "spec": {"failurePolicy": {"maxRestarts": restarts}, "replicatedJobs": [group]},
    }


def _hosts(topology: str, chips: int) -> int:
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", topology):
        raise Problem(f"`{topology}` is no topology, such as `4x4`", code=ExitCode.USAGE)
    hosts, rest = divmod(math.prod(int(part) for part in topology.split("x")), chips)
    if rest or not hosts:
        raise Problem(
            f"a slice of `{topology}` has no hosts of {chips} chips each", code=ExitCode.USAGE
        )
    return hosts


def make_config_map(request: LaunchRequest) -> dict[str, object]:
    """Return the ConfigMap with the probe."""
    data = repack_probe_zip(request.archive)
    if len(data) > MAX_BYTES:
        raise Problem(f"the probe has {len(data)} bytes, and a ConfigMap takes {MAX_BYTES}")
    return build_config_map(request.options.get("name") or NAME, FILE, data)


def build_config_map(name: str, file: str, data: bytes) -> dict[str, object]:
    """Return a ConfigMap that holds one file."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "binaryData": {file: base64.b64encode(data).decode()},
    }


def repack_probe_zip(archive: Path) -> bytes:
    """Return the probe's zip, compressed and without bytecode."""
    stream = io.BytesIO()
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            if not name.endswith(".pyc"):
                entry = zipfile.ZipInfo(name, DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                new.writestr(entry, old.read(name), compresslevel=9)
    return stream.getvalue()
