"""Every chip has an accessible device node."""

from tpustarter.checks.host import _docker
from tpustarter.machine import host, tpus
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "trouble/when-it-does-not-start"
SOURCE = "https://docs.cloud.google.com/tpu/docs/runtimes"

VFIO = "/dev/vfio/vfio"
"""The node every user of /dev/vfio/N opens too: docs.kernel.org/driver-api/vfio.html."""


def run(machine: host.Machine | None = None):
    """Find each chip's node and read its permissions, without opening it."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    chips, nodes = host.list_chips(machine), host.list_device_nodes(machine)
    if chips:
        reachable = host.count_reachable_chips(machine)
        yield compare(
            code="HOST-NODES-COUNT",
            name="chips with a device node",
            found=reachable,
            expected=len(chips),
            unit="chips",
            hint=None if reachable == len(chips) else _missing_hint(machine, chips),
        )
    paths = {path for chip in chips for path in chip.nodes} or {node.path for node in nodes}
    if any(path.startswith("/dev/vfio/") for path in paths):
        paths.add(VFIO)
        yield _locked_memory()
    present = [node for path in sorted(paths) if (node := host.read_device_node(machine, path))]
    if present:
        yield _access(present)


def _access(nodes: list[host.DeviceNode]) -> Finding:
    code, name = "HOST-NODES-ACCESS", "device nodes that this user may open"
    closed = [node for node in nodes if not (node.readable and node.writable)]
    if not closed:
        return Finding(code, name, "ok", len(nodes), len(nodes), "nodes")
    paths, first = " ".join(node.path for node in closed), closed[0]
    reached = f"{len(nodes) - len(closed)} of {len(nodes)}"
    return Finding(
        code=code,
        name=name,
        verdict="warn",  # the machine is sound and this user is not let in: exit code 77 says so
        found=f"{reached}; {first.path} is {first.mode} and belongs to {first.owner}",
        expected="all readable and writable",
        entity=first.path,
        hint=Hint.see(f"sudo chmod a+rw {paths}", "opens them until this machine restarts"),
    )


def _missing_hint(machine: host.Machine, chips: list[host.Chip]) -> str:
    """Return the hint that makes the nodes appear: container flags, or the VM's software."""
    container = host.detect_container(machine)
    if container:
        return _docker.restart(container)
    version = tpus.find_generation(chips[0].generation).runtime_version
    if version and not any(chip.driver for chip in chips):
        return f"no driver is bound to the chips, so create the VM again with `--version={version}`"
    return "restart this machine; if the nodes are still missing, delete it and create another"


def _locked_memory() -> Finding:
    """Return the finding on the memory that a process may lock; VFIO pins host buffers in it."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    endless = limit == resource.RLIM_INFINITY
    value, unit = ("unlimited", None) if endless else (limit / 2**20, "MiB")
    return Finding("HOST-NODES-MEMLOCK", "memory that a process may lock", found=value, unit=unit)
