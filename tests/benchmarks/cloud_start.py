"""Measure the time until the first byte of `tpustarter tpu list` is sent, and that of gcloud.

    python tests/benchmarks/cloud_start.py ENVIRONMENT [--repeat N]

ENVIRONMENT holds tpustarter, as users install it: where aiohttp is there too (extra `serve`),
google-auth imports it, and the start takes 80 ms more. gcloud is the one on PATH. Both list the
queued resources of a project from a socket on loopback that answers nothing: the clock stops when
it receives a byte, and the command is ended. Prints medians and their ratio; asserts nothing, for
machines are noisy.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

LIMIT_S = 60.0


def first_byte_s(words: list[str], variables: dict[str, str], port_in: str, prefix: str) -> float:
    """Return the seconds from the start of a command to the first byte that it sends.

    Args:
        words: The command.
        variables: Its environment, beside PATH.
        port_in: The variable that names the server.
        prefix: What stands before the address there.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT_S)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        slash = "/" if prefix else ""
        env = {"PATH": os.environ["PATH"], port_in: f"{prefix}{address}{slash}"} | variables
        began = time.perf_counter()
        process = subprocess.Popen(
            words,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(LIMIT_S)
                connection.recv(1)
                return time.perf_counter() - began
        finally:
            process.kill()
            process.wait()


def main() -> None:
    """Print the medians of both, run in turn, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--repeat", type=int, default=9)
    asked = parser.parse_args()
    gcloud = shutil.which("gcloud")
    with tempfile.TemporaryDirectory() as home:
        ours = {"HOME": home, "TPUSTARTER_HOME": f"{home}/state"}
        theirs = {
            "HOME": home,
            "CLOUDSDK_CONFIG": home,
            "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
            "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        }
        program = str(asked.environment / "bin" / "tpustarter")
        options = ["list", "--project=my-project", "--zone=-"]
        commands = {
            "tpustarter tpu list": (
                [program, "tpu", "list", "--project", "my-project"],
                ours,
                "TPUSTARTER_TPU_ENDPOINT",
                "",
            ),
        }
        if gcloud:
            commands["gcloud ... queued-resources list"] = (
                [gcloud, "compute", "tpus", "queued-resources", *options],
                theirs,
                "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU",
                "http://",
            )
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(asked.repeat + 1):
            for name, command in commands.items():
                seconds[name].append(first_byte_s(*command))
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    baseline = [*medians.values()][-1]
    for name, median_s in medians.items():
        print(f"{name:<34} {1000 * median_s:>6.0f} ms {median_s / baseline:>6.2f} x")


if __name__ == "__main__":
    main()
