"""The container is configured for the TPU."""

from tpustarter.checks.host import _docker
from tpustarter.machine import host
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"container": True, "chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "setup/docker"
SOURCE = "https://github.com/pytorch/xla/pull/8735"

LOW_SHM_GIB = 1.0
"""Docker gives 64 MiB where nobody asks for more, which data loaders outgrow at once."""


def run(machine: host.Machine | None = None):
    """Look at nodes, network and shared memory as the container sees them."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    container = host.detect_container(machine)
    if container is None:
        return
    hint = _docker.restart(container)
    yield Finding("HOST-CONTAINER-KIND", "kind of container", found=container.kind)
    chips = len(host.list_chips(machine))
    if chips:
        reachable = host.count_reachable_chips(machine)
        yield compare(
            code="HOST-CONTAINER-NODES",
            name="chips with a device node in the container",
            found=reachable,
            expected=chips,
            unit="chips",
            hint=None if reachable == chips else hint,
        )
    yield _network(container, hint, managed=bool(find_notebook_service(machine.env)))
    if container.shm_gib is not None:
        low = container.shm_gib < LOW_SHM_GIB
        yield Finding(
            code="HOST-CONTAINER-SHM",
            name="shared memory, /dev/shm",
            verdict="warn" if low else "ok",
            found=round(container.shm_gib, 3),
            expected=f"{LOW_SHM_GIB:g} or more",
            unit="GiB",
            hint=(_shm_of_pod() if container.kind == "kubernetes" else hint) if low else None,
        )


def _network(container: host.Container, hint: str, *, managed: bool) -> Finding:
    """Judge the network; pods of GKE and managed notebooks have their own, and it serves them."""
    words = {True: "the host's", False: "its own", None: "unknown"}
    wrong = container.host_network is False and container.kind != "kubernetes" and not managed
    return Finding(
        code="HOST-CONTAINER-NETWORK",
        name="network of the container",
        verdict="warn" if wrong else "ok" if container.host_network else "info",
        found=words[container.host_network],
        expected="the host's" if wrong else None,
        hint=hint if wrong else None,
    )


def _shm_of_pod() -> str:
    return "mount a volume `emptyDir: {medium: Memory}` at /dev/shm in the pod"
