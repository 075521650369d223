"""Shows how a CPU build of TensorFlow behaves on a faked TPU VM with 8 chips.

    python -m tests.tensorflow.plain_build PYTHON

PYTHON has `tensorflow` or `tensorflow-cpu`. Ends with 1 where its user isn't told what to do, or
where anything counts as a TPU that was tested. It needs root and Linux namespaces.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.needs import can_fake
from tests.support.places import SUPPORT

MACHINE = "v5e:8,mds"


def main(python: str) -> int:
    """Run all checks there, and print the failures, hints and seconds."""
    if not can_fake():
        print("a TPU VM can't be faked here: it needs root and Linux namespaces")
        return 0
    check = [sys.executable, "-m", "tpustarter", "check", "--python", python, "--json"]
    fake = [sys.executable, str(SUPPORT / "fake_tpu_vm.py"), MACHINE, "--"]
    done = subprocess.run([*fake, *check], capture_output=True, text=True, check=False)
    if not done.stdout:
        print(done.stderr)
        return 1
    report = json.loads(done.stdout)
    failed = [
        finding
        for result in report["results"]
        for finding in result["findings"]
        if finding["verdict"] == "fail"
    ]
    for finding in failed:
        print(f"{finding['code']}: {finding['name']}: {finding['found']}; {finding['hint']}")
    exit_code, verified_on = report["exit_code"], report["verified_on"]
    print(f"exit {exit_code}, verified on {verified_on}, after {report['seconds']:.1f} s")
    told = ["TF-PACKAGE-TPU"] == [finding["code"] for finding in failed]
    helped = told and "tpustarter setup tensorflow" in failed[0]["hint"]
    return 0 if helped and (1, "none") == (exit_code, verified_on) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
