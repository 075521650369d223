"""Proves that containers start: `prove_docker.py`, run as root, with the standard library alone.

It creates an empty image and starts it with this machine's programs inside, so it needs no other
image and no network. If there are TPU chips, it is started with the flags for programs that use
them, but no program opens them. Each printed line is a claim that held; the first that does not
ends the program with exit code 1. The container and the image are removed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

NAME = "tpustarter-proof"
"""Name of the image and the container, including those left by an interrupted proof."""
SHM_MIB = 16 * 1024
FLAGS = ("--net=host", "--shm-size=16g")
TPU_FLAGS = ("--privileged",)
"""Source: https://docs.cloud.google.com/tpu/docs/run-in-container (read 2026-11)."""
EMPTY_TAR = bytes(10240)
START_S = 60


def main() -> None:
    """Start a container, check each claim inside, and remove it; exit if a claim fails."""
    signal.signal(signal.SIGTERM, exit_on_signal)
    here = collect_facts()
    version = run_docker("version", "--format", "{{.Server.Version}}").strip()
    print(f"the server of Docker {version} answers", flush=True)
    try:
        run_docker("import", "-", NAME, data=EMPTY_TAR)
        if here["nodes"]:
            plain = collect_facts_inside()
            require_claim(
                not plain["nodes"], "a container that is started without flags sees no TPU chip"
            )
        flags = (*FLAGS, *(TPU_FLAGS if here["nodes"] else ()))
        inside = collect_facts_inside(*flags)
        require_claim(inside["in_container"], f"a container starts with `{' '.join(flags)}`")
        require_claim(inside["network"] == here["network"], "it has the network of this machine")
        require_claim(
            inside["shm_mib"] == SHM_MIB, f"it has {inside['shm_mib']} MiB of shared memory"
        )
        if here["nodes"]:
            count = len(here["nodes"])
            require_claim(
                inside["nodes"] == here["nodes"], f"it sees each of the {count} device nodes"
            )
    finally:
        remove_container()
    require_claim(
        NAME not in run_docker("images", "--format", "{{.Repository}}"), "its image has gone"
    )
    print("no program opened a chip" if here["nodes"] else "no TPU was tested")


def exit_on_signal(*_: object) -> None:
    """Exit on a signal, running the `finally` blocks."""
    sys.exit(143)


def require_claim(holds: object, text: str) -> None:
    """Print a claim that holds; exit with an error for one that does not."""
    if not holds:
        sys.exit(f"not so: {text}")
    print(text, flush=True)


class SeenDevices(TypedDict):
    """The chips' device nodes, the network and the shared memory that a program sees."""

    nodes: list[str]
    network: str
    shm_mib: int
    in_container: bool


def collect_facts() -> SeenDevices:
    """Return the chips' device nodes, the network and the shared memory that a program sees."""
    folders = [Path("/dev"), Path("/dev/vfio")]
    paths = [str(path) for folder in folders if folder.is_dir() for path in folder.iterdir()]
    memory = os.statvfs("/dev/shm")  # noqa: S108 -- what is looked at
    return {
        "nodes": sorted(path for path in paths if re.fullmatch(r"/dev/(accel|vfio/)\d+", path)),
        "network": str(Path("/proc/self/ns/net").readlink()),
        "shm_mib": memory.f_blocks * memory.f_frsize // 2**20,
        "in_container": Path("/.dockerenv").exists(),
    }


def collect_facts_inside(*flags: str) -> SeenDevices:
    """Return the result of `collect_facts` in a container started with these flags."""
    python = os.path.realpath(sys.executable)  # the base Python of a virtual environment
    folders = ["/usr", "/bin", "/lib", "/lib64", sys.base_prefix, str(Path(__file__).parent)]
    mounts = [f"--volume={folder}:{folder}:ro" for folder in folders if Path(folder).is_dir()]
    answer = run_docker(
        "run", "--rm", f"--name={NAME}", *flags, *mounts, NAME, python, "-IB", __file__, "look"
    )
    return json.loads(answer)


def run_docker(*words: str, data: bytes | None = None) -> str:
    """Run Docker and return its output; exit with the last line of its errors if it fails."""
    program = shutil.which("docker")
    if program is None:
        sys.exit("there is no `docker` on PATH")
    try:
        done = subprocess.run(
            [program, *words], input=data, capture_output=True, check=False, timeout=START_S
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"`docker {words[0]}` did not end within {START_S} s")
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        errors = [line for line in lines if "rror" in line]
        sys.exit(f"`docker {words[0]}`: {(errors or lines or ['it said nothing'])[-1]}")
    return done.stdout.decode("utf-8", "replace")


def remove_container() -> None:
    """Remove the container and the image, if they exist."""
    program = shutil.which("docker") or "docker"
    for verb in ("rm", "rmi"):
        subprocess.run(
            [program, verb, "--force", NAME], capture_output=True, check=False, timeout=START_S
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["look"]:
        print(json.dumps(collect_facts()))
    else:
        main()
