"""The command or setting that gives a container access to the TPU."""

from tpustarter.machine import host

DOCKER = "docker run --privileged --net=host --shm-size=16g IMAGE"
"""Source: github.com/pytorch/xla/pull/8735 (read 2026-11); explicit --device flags were given up
in github.com/marin-community/marin/pull/3871."""

POD = "request `google.com/tpu` in the pod, so that GKE mounts the device nodes"
"""Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/tpus (read 2026-11)."""


def restart(container: host.Container) -> str:
    """Return the hint to start this kind of container with access to the TPU."""
    if container.kind == "kubernetes":
        return POD
    engine = "podman" if container.kind == "podman" else "docker"
    return f"start the container with `{DOCKER.replace('docker', engine, 1)}`"
