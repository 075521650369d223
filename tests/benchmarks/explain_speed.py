"""Seconds of the processor and memory of `explain` on a long log, beside `grep -E`, in one run.

    python tests/benchmarks/explain_speed.py [MEGABYTES]

Both search for the same patterns, whatever their case. grep gets `LC_ALL=C`, with which it is a
hundred times as fast as in UTF-8. The log is that of a training run with
launcher prefixes, in which words of TPUs and of errors are ordinary; its end holds one failure.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tpustarter.explain import known_failures

PAIRS = 3
_HELD = "RuntimeError: The TPU is already in use by process with pid 4242\n"
_MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)  # into /dev/null, grep stops at once
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


def write_log(path: Path, size: int) -> None:
    """Write a log of about this many bytes."""
    chosen = random.Random(1)
    with path.open("w") as file:
        step = 0
        while file.tell() < size:
            lines: list[str] = []
            for _ in range(20_000):
                step += 1
                stamp = f"worker-{step % 16}: 2026-11-22 10:{step // 60 % 60:02}:{step % 60:02} I"
                lines.append(f"{stamp} {_message(step, chosen)}\n")
            file.writelines(lines)
        file.write(_HELD)


def _message(step: int, chosen: random.Random) -> str:
    number = chosen.random()
    return chosen.choice(
        (
            f"step {step} loss={number * 4:.4f} tokens/s={int(number * 1e6)} mfu={number:.3f}",
            f"Compiling train_step took {number:.2f} s on TPU v5e device {step % 8}",
            f"checkpoint saved to gs://bucket/run/checkpoint_{step} in {number:.2f} s",
            f"prefetched {step % 512} examples, host memory {int(number * 200)} GiB free",
            f"WARNING: retry {step % 5} of a request to storage.googleapis.com after a timeout",
        )
    )


def posix(pattern: str) -> str | None:
    """Return a pattern as `grep -E` reads it; null for one that it cannot read."""
    plain = re.sub(r"\(\?P<\w+>|\(\?:", "(", known_failures.generalise_pattern(pattern))
    plain = plain.replace(r"\d", "[0-9]")
    return None if re.search(r"\(\?|[*+?}]\?|\\[nrtxDAZ]|\[[^\]]*\\", plain) else plain


def measured(command: list[str]) -> tuple[float, int]:
    """Return the seconds of the processor that a command takes, and its memory at most in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=False
    )
    seconds, kib = done.stderr.split()[-2:]
    return float(seconds), int(kib) // 1024


def main() -> None:
    """Print both, in pairs."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    patterns = [
        one
        for row in known_failures.read_known_failures()
        for part in ("shows", "suggests", "unless", "needs")
        for one in getattr(row, part)
    ]
    readable = [one for one in map(posix, patterns) if one]
    print(f"{megabytes} MB, {len(patterns)} patterns, of which grep -E reads {len(readable)}")
    with tempfile.TemporaryDirectory() as folder:
        log, signatures = Path(folder, "train.log"), Path(folder, "signatures")
        write_log(log, megabytes * 1_000_000)
        signatures.write_text("\n".join(readable) + "\n")
        grep = ["env", "LC_ALL=C", "grep", "-E", "-i", "-c", "-f", str(signatures), str(log)]
        explain = [sys.executable, "-m", "tpustarter", "explain", "--no-look", str(log)]
        for _ in range(PAIRS):
            grep_s, grep_mib = measured(grep)
            ours_s, ours_mib = measured(explain)
            print(
                f"grep -E {grep_s:6.2f} s {grep_mib:4} MiB   explain {ours_s:6.2f} s "
                f"{ours_mib:4} MiB   {ours_s / grep_s:.2f} x the time"
            )


if __name__ == "__main__":
    main()
