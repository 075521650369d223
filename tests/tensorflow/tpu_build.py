"""Proves how tensorflow-tpu behaves without a TPU, in a Python where pip installed it.

    python -m tests.tensorflow.tpu_build PYTHON

Its metadata allows a libtpu with which it can't be imported: `host.frameworks` has to say so, and
the command that it prints has to mend it. Ends with 1 where one of these is no longer so.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from typing import Any

CODE = "HOST-FRAMEWORKS-TENSORFLOW-LIBTPU"
OFFLINE = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
"""Without the first, its import asks a metadata server for minutes where there is none."""
PROGRAM = """import tensorflow as tf
print("imported", tf.__version__, [device.device_type for device in
      tf.config.list_physical_devices()])
try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.tpu.experimental.initialize_tpu_system(resolver)
except Exception as error:
    lines = [line for line in str(error).splitlines() if line.strip()]
    print("refused", type(error).__name__, *[line for line in lines if "TPU" in line or
          "RET_CHECK" in line][:1])
"""


def imported(python: str) -> tuple[int, list[str], float]:
    """Return the exit code of the import, its output lines, and its duration in seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [python, "-c", PROGRAM],
        env={**os.environ, **OFFLINE},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    said = done.stdout.splitlines() or done.stderr.splitlines()[-1:]
    return done.returncode, said, time.monotonic() - began


def finding(python: str) -> dict[str, Any]:
    """Return the finding of `host.frameworks` about the pair."""
    command = [
        sys.executable,
        "-m",
        "tpustarter",
        "check",
        "host.frameworks",
        "--python",
        python,
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["results"][0]["findings"]
    return next(one for one in findings if one["code"] == CODE)


def main(python: str) -> int:
    """Import it as pip left it, then as the hint says."""
    told = finding(python)
    code, said, seconds = imported(python)
    print(f"tensorflow-tpu with libtpu {told['found']}: exit {code} in {seconds:.0f} s, {said}")
    if (told["verdict"] == "fail") != (code != 0):
        print("the check and the import disagree")
        return 1
    if told["verdict"] == "ok":
        return 0
    print(f"host.frameworks: {told['hint']}")
    words = shlex.split(told["hint"].split("`")[1])
    if words[1:3] == ["-m", "pip"]:  # an environment of uv has none; what matters is the package
        words = [sys.executable, "-m", "uv", "pip", "install", "--python", python, *words[4:]]
    subprocess.run(words, check=True, capture_output=True)
    code, said, seconds = imported(python)
    mended = finding(python)
    print(
        f"tensorflow-tpu with libtpu {mended['found']}: exit {code} in {seconds:.0f} s",
        *said,
        sep="\n  ",
    )
    refused = any(line.startswith("refused") for line in said)
    return 0 if code == 0 and refused and mended["verdict"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
