"""Count compilations in a debug report.

`PT_XLA_DEBUG_LEVEL=1` prints a paragraph for each compilation. Below its
title `Python Frame Triggered Execution:` are the calls that led to it, the
innermost first, and the first ones are usually in torch_xla itself.

Return how many compilations each line of the user's own program caused, as
`{"train.py:31": 2}`. A line of the user's is the first frame of a paragraph
whose file is not in `site-packages`.
"""

import collections
import re


def compilations_by_line(report):
    """Return `{file:line: compilations}` for the text of a report."""
    return dict(collections.Counter())  # your code here


# Judged below: leave this part as it is.

SITE = "/home/me/tpu/lib/python3.11/site-packages/torch_xla"


def paragraph(*frames):
    head = [
        "Compilation Cause",
        "  user torch_xla.sync",
        "Graph Info: ",
        "  Graph Hash: edadf53169aaa7e7375e240aa734db07",
        "  Number of Graph Inputs: 17",
        "Python Frame Triggered Execution: ",
    ]
    lines = head + [f"  {frame}" for frame in frames]
    return "".join(f"Compilation Analysis: {line}\n" for line in lines)


sync = f"sync ({SITE}/torch_xla.py:87)"
step = f"train_step ({SITE}/utils/helpers.py:12)"
main = "<module> (/home/me/run.py:9)"
found = compilations_by_line(paragraph(sync, "train (/home/me/train.py:31)"))
expected = {"train.py:31": 1}
message = f"for one compilation you return {found}, expected {expected}"
assert found == expected, message

found = compilations_by_line(
    paragraph(sync, "train (/home/me/train.py:31)", main) * 2
    + "Post Compilation Analysis: Graph input size: 0.0 GB\n"
    + paragraph(sync, step, "evaluate (/home/me/evaluate.py:8)", main)
)
expected = {"train.py:31": 2, "evaluate.py:8": 1}
message = (
    f"for three compilations you return {found}, expected {expected}:"
    " count only the first frame outside site-packages in each paragraph"
)
assert found == expected, message
assert compilations_by_line("") == {}, "an empty report has no compilation"
print("compilations:", found)
