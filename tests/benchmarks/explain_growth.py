"""Growth of the time of `explain` with a log that its patterns half match, from 1 MB to 4 MB.

    python tests/benchmarks/explain_growth.py [BASE_MEGABYTES]

Four times the bytes should take about four times as long, and less where a pattern that was found
often is left out. A row far above that is a search whose time is not linear.
"""

from __future__ import annotations

import io
import random
import sys
import time

from tpustarter.explain import explain_output, explanation_text, known_failures, log_scanner

PIECES = (
    "RESOURCE_EXHAUSTED: ",
    "://",
    "@",
    '"',
    "QUJDREVGR0hJSktMTU5P",
    "deadbeef0123",
    "a ",
    "Error ",
    'File "',
    "0x1.",
    "\x1b]0;",
    "(",
    "Used 1.5G of 2.0G hbm. ",
    "password=hunter2 ",
    "Traceback (most recent call last)",
)
FACTOR = 4


def logs(size: int) -> dict[str, bytes]:
    """Return logs of about this many bytes: repeated pieces, and all known failures at once."""
    found = {piece: (piece * (size // len(piece) + 1)).encode()[:size] for piece in PIECES}
    examples = [
        " ".join(text.split())
        for row in known_failures.read_known_failures()
        for text in row.examples
    ]
    halves = [text[: len(text) * 2 // 3] for text in examples]
    for name, texts in (("failures", examples), ("halves of failures", halves)):
        chosen, many = random.Random(1), list[str]()
        while sum(map(len, many)) < size:
            many += chosen.choices(texts, k=2_000)
        found[f"{name}, in a line each"] = "\n".join(many).encode()[:size]
        joined = " ".join(many).encode()[:size]
        found[f"{name}, in one line"] = joined
        found[f"{name}, in long lines"] = b"\n".join(
            joined[start : start + 3_900] for start in range(0, size, 3_900)
        )
    return found


def seconds(log: bytes) -> float:
    """Return the seconds of a log, from its bytes to the text that is printed."""
    began = time.process_time()
    scan = log_scanner.FailureScanner(known_failures.read_known_failures()).scan(io.BytesIO(log))
    explanation_text.render_explanation(explain_output.explain_log(scan))
    return time.process_time() - began


def main() -> None:
    """Print seconds of both sizes, and their ratio."""
    base = int(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1_000_000)
    seconds(b"RESOURCE_EXHAUSTED: warm")
    small, large = logs(base), logs(FACTOR * base)
    print(f"{'log':36} {base / 1e6:>7g} MB {FACTOR * base / 1e6:>7g} MB   ratio")
    for name, log in small.items():
        first, second = seconds(log), seconds(large[name])
        print(f"{name!r:36} {first:>8.2f} s {second:>8.2f} s {second / first:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
