"""What a report cannot answer: the user's part of a form, and the commands that collect the rest.

Maintainers ask for them again and again. Each is asked only where the facts leave it open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tpustarter.report import trackers
from tpustarter.report.view import Fields, View

ELSEWHERE = {
    "pytorch-xla": ("code", "cpu"),
    "tensorflow": ("code",),
    "cloud-tpu": ("code", "always", "cpu"),
}
"""What a form asks in a field of its own, or has no use for."""
ON_CPU = {
    "jax": "`JAX_PLATFORMS=cpu`",
    "pytorch-xla": "`PJRT_DEVICE=CPU`",
    "torchtpu": '`device="cpu"`',
    "tensorflow": "without `TPUStrategy`",
}
"""How the same code runs without a TPU."""
LOUD = "TPU_STDERR_LOG_LEVEL=0 TPU_MIN_LOG_LEVEL=0 TF_CPP_MIN_LOG_LEVEL=0"
LOUDER = {"jax": "JAX_TRACEBACK_FILTERING=off ", "pytorch-xla": "PT_XLA_DEBUG=1 "}
"""What makes a program tell most.

Sources: docs.jax.dev/en/latest/config_options.html, docs.pytorch.org/xla/master (its page on
troubleshooting), read 2026-11.
"""
DUMP = 'XLA_FLAGS="$XLA_FLAGS --xla_dump_to=/tmp/hlo"'
DUMPS = {
    "jax": "JAX_DUMP_IR_TO=/tmp/ir",
    "pytorch-xla": "XLA_SAVE_TENSORS_FMT=hlo XLA_SAVE_TENSORS_FILE=/tmp/hlo.txt",
    "tensorflow": "",
}
"""What writes the program as the compiler got it.

Both are named where there are two, because in openxla/xla#23350 the first wrote nothing on a TPU.
Source: github.com/openxla/xla/blob/main/docs/hlo_dumps.md (read 2026-11).
"""


def yours(view: View) -> list[str]:
    """Return what only the user can say of this machine and this failure."""
    tracker = view.first["tracker"]
    hosts = view.fact("metadata", "hosts", 1)
    has_tpu = view.fact("tpu", "chips", 0)
    old = " and ".join(one["name"] for one in stale(view))
    fresh = ", on a new TPU VM too" if has_tpu else ""
    since = "" if view.fact("changes", "since", "") else ", and since when: a version that worked"
    asked: dict[str, tuple[Any, str]] = {
        "what": (True, "The command you ran, what happened, and what you expected instead."),
        "code": (True, "The shortest code that shows it, with data that it makes itself."),
        "always": (True, f"Whether it happens every time{fresh}{since}."),
        "cpu": (has_tpu, f"Whether the same code works on the CPU ({ON_CPU.get(tracker)})."),
        "hosts": (
            isinstance(hosts, int) and hosts > 1,
            f"Whether you started it on each of the {hosts} hosts, with the same versions on all.",
        ),
        "stale": (old, f"Whether it fails with the newest {old} too."),
        "image": (
            view.fact("resources", "container", "none") != "none",
            "Which image the container is from, its options, and whether it happens outside of it.",
        ),
        "vm": (
            has_tpu and not view.fact("metadata", "runtime_version", ""),
            "The command that made the TPU VM, with its runtime version.",
        ),
        "impact": (tracker == "cloud-tpu", "How many TPUs it concerns, and what it holds up."),
    }
    elsewhere = ELSEWHERE.get(tracker, ())
    return [text for name, (applies, text) in asked.items() if applies and name not in elsewhere]


def stale(view: View) -> list[Fields]:
    """Return the stale packages that the tracker's maintainers ask for."""
    wanted = trackers.named(view.first["tracker"]).packages
    found = cast("list[Fields]", view.first["stale"])
    return [one for one in found if not wanted or one["name"] in wanted]


def prompt(asked: list[str]) -> str:
    """Return a comment that asks the user; it is seen while writing and not in the issue."""
    rows = "\n".join(f"- {one}" for one in asked)
    return f"<!-- Yours to write, because no file tells it:\n{rows}\n-->"


def next_steps(view: View) -> Iterator[str]:
    """Yield what a maintainer will ask next, with the commands; none of them was run."""
    tracker, hung = view.first["tracker"], view.first["hung"]
    known = [one for one in view.first["known"] if one["confidence"] == "confirmed"]
    if known:
        return  # its fix comes first, and there may be nothing to ask then
    yield "### What a maintainer will ask next"
    yield ""
    yield "None of these commands was run. What they write names your files and functions,"
    yield "so read it before you attach it."
    yield ""
    yield "- A log with everything in it, for `tpustarter report --log verbose.log`:"
    yield from _shell(
        f"{LOUD} \\", f"  {LOUDER.get(tracker, '')}python your_program.py 2>&1 | tee verbose.log"
    )
    if not hung and tracker in DUMPS and _devices_start(view):
        yield "- Where numbers are wrong, compilation fails or memory runs out, the program as"
        yield "  the compiler got it:"
        more = [f"  {DUMPS[tracker]} \\"] if DUMPS[tracker] else []
        yield from _shell(f"{DUMP} \\", *more, "  python your_program.py")
    if any(not view.fact(one["framework"], "native_stack", "") for one in hung):
        yield "- The native stack of the hang, which a report takes where py-spy is installed:"
        yield from _shell("python -m pip install py-spy && tpustarter report")
    if view.fact("metadata", "waits_for_other_hosts", default=None):
        yield "- The same report of each other host of the slice:"
        yield from _shell("tpustarter report --no-ask --yes")
    if tracker == "cloud-tpu":
        yield "- The state and the health of the TPU, as Google's API tells them:"
        yield from _shell("gcloud compute tpus tpu-vm describe TPU_NAME --zone=ZONE")


def _devices_start(view: View) -> bool:
    """Return whether some framework came as far as its devices, or was not asked at all."""
    asked = [name for name in ("jax", "torch_xla", "tensorflow") if view.fact(name, "steps", [])]
    failed = cast("list[Fields]", [
        step for name in asked for step in view.fact(name, "steps", [])
        if "devices" in step["step"] and step["state"] != "answered"
    ])  # fmt: skip
    return not failed


def _shell(*lines: str) -> Iterator[str]:
    yield ""
    yield "  ```sh"
    yield from (f"  {line}" for line in lines)
    yield "  ```"
    yield ""
