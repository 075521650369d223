"""No sign of other hosts in this slice."""

from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "slices/run-everywhere"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"

UNKNOWN = "if this is the only host, run `export TPU_WORKER_HOSTNAMES=localhost`"
CONTRADICTION = Hint.see("gcloud compute tpus tpu-vm describe NAME --zone=ZONE", "lists its hosts")


def run(machine: host.Machine | None = None):
    """Check whether variables and metadata name more than one host."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    metadata = host.metadata(machine)
    shape = host.find_slice(machine, metadata)
    hosts, worker = shape.hosts, shape.worker
    source = shape.sources.get("hosts", "not given by variables or metadata")
    yield Finding(
        code="HOST-SLICE-HOSTS",
        name=f"hosts in this slice ({source})",
        verdict="ok" if hosts == 1 else "warn" if shape.waits or hosts is None else "info",
        found="unknown" if hosts is None else hosts,
        expected=1 if shape.waits or hosts is None else None,
        hint=UNKNOWN if hosts is None else _everywhere(machine, metadata) if shape.waits else None,
    )
    if shape.misfit:
        misfit = shape.misfit
        yield Finding(
            code="HOST-SLICE-MISFIT",
            name=f"hosts that {misfit.source} names, against type {shape.accelerator_type}",
            verdict="info" if misfit.confines else "warn",
            found=misfit.hosts,
            expected=misfit.expected,
            hint=None if misfit.confines else CONTRADICTION,
        )
    if hosts and hosts > 1 and worker is not None:
        in_range = worker < hosts
        yield Finding(
            code="HOST-SLICE-WORKER",
            name="index of this worker, counted from 0",
            verdict="info" if in_range else "fail",
            found=worker,
            expected=None if in_range else f"less than {hosts}",
            hint=None if in_range else f"correct or unset {shape.sources['worker']}",
        )
    if shape.devices:
        yield Finding(
            code="HOST-SLICE-DEVICES",
            name=f"devices of the whole {shape.accelerator_type}",
            found=shape.devices,
            unit="devices",
        )
    if shape.host_devices:
        yield Finding(
            code="HOST-SLICE-HOST-DEVICES",
            name="devices of this host",
            found=shape.host_devices,
            unit="devices",
        )


def _everywhere(machine: host.Machine, metadata: host.Metadata) -> str:
    """Return the hint to start a program on every host; on one host, it waits for the others."""
    generation = host.find_generation(machine, metadata)
    if machine.env.get("KUBERNETES_SERVICE_HOST"):
        return "start the program in one pod per host, with an indexed Job or a JobSet"
    if generation and generation.cloud_tpu_api is False:
        return "start the same program on every host of the slice at the same time"
    command = host.all_workers_command("python3 PROGRAM.py", machine, metadata)
    return f"start programs on all hosts at once, with `{command}`"
