"""Questions that a report cannot answer: the user's part of a form, and commands for the rest.

Maintainers ask them often. Each question appears only if the facts leave it open.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.machine import frameworks
from tpustarter.report.forms import issue_trackers
from tpustarter.report.forms.report_view import ReportView
from tpustarter.report.report_document import StalePackage
from tpustarter.text import phrases

VERBOSE_VARIABLES = "TPU_STDERR_LOG_LEVEL=0 TPU_MIN_LOG_LEVEL=0 TF_CPP_MIN_LOG_LEVEL=0"
DUMP_VARIABLE = 'XLA_FLAGS="$XLA_FLAGS --xla_dump_to=/tmp/hlo"'


def list_user_questions(view: ReportView) -> list[str]:
    """Return the questions about a report that only the user can answer."""
    tracker, facts = issue_trackers.find_tracker(view.first.tracker), view.facts
    hosts = facts.metadata.hosts or 1
    has_tpu = bool(facts.tpu.chips)
    old = phrases.join_words(one.name for one in list_stale_packages(view))
    fresh = ", on a new TPU VM too" if has_tpu else ""
    since = "" if facts.changes.since else ", and since when: a version that worked"
    asked: dict[str, tuple[bool, str]] = {
        "what": (True, "The command you ran, what happened, and what you expected instead."),
        "code": (True, "The shortest code that shows it, with data that it makes itself."),
        "always": (True, f"Whether it happens every time{fresh}{since}."),
        "cpu": (has_tpu, f"Whether the same code works on the CPU ({tracker.on_cpu})."),
        "hosts": (
            hosts > 1,
            f"Whether you started it on each of the {hosts} hosts, with the same versions on all.",
        ),
        "stale": (bool(old), f"Whether it fails with the newest {old} too."),
        "image": (
            facts.resources.container != "none",
            "Which image the container is from, its options, and whether it happens outside of it.",
        ),
        "vm": (
            has_tpu and not facts.metadata.runtime_version,
            "The command that made the TPU VM, with its runtime version.",
        ),
        "impact": (tracker.id == "cloud-tpu", "How many TPUs it concerns, and what it holds up."),
    }
    return [
        text
        for name, (applies, text) in asked.items()
        if applies and name not in tracker.asked_in_form
    ]


def list_stale_packages(view: ReportView) -> list[StalePackage]:
    """Return the stale packages that the tracker's maintainers ask for."""
    wanted = issue_trackers.find_tracker(view.first.tracker).packages
    return [one for one in view.first.stale if not wanted or one.name in wanted]


def format_questions_comment(asked: list[str]) -> str:
    """Return an HTML comment with the questions, visible while writing but not in the issue."""
    rows = "\n".join(f"- {one}" for one in asked)
    return f"<!-- Yours to write, because no file tells it:\n{rows}\n-->"


def format_next_steps(view: ReportView) -> Iterator[str]:
    """Yield Markdown lines with a maintainer's likely next questions.

    Each has a command that would answer it; none of these has been run. Yields nothing if a known
    issue is confirmed.
    """
    tracker, hung = issue_trackers.find_tracker(view.first.tracker), view.first.hung
    if any(one.confidence == "confirmed" for one in view.first.known):
        return  # its fix comes first, and there may be nothing to ask then
    yield "### What a maintainer will ask next"
    yield ""
    yield "None of these commands was run. What they write names your files and functions,"
    yield "so read it before you attach it."
    yield ""
    yield "- A log with everything in it, for `tpustarter report --log verbose.log`:"
    yield from _format_shell_block(
        f"{VERBOSE_VARIABLES} \\",
        f"  {tracker.verbose_assignments}python your_program.py 2>&1 | tee verbose.log",
    )
    if not hung and tracker.dumps is not None and _devices_start(view):
        yield "- Where numbers are wrong, compilation fails or memory runs out, the program as"
        yield "  the compiler got it:"
        more = [f"  {tracker.dumps} \\"] if tracker.dumps else []
        yield from _format_shell_block(f"{DUMP_VARIABLE} \\", *more, "  python your_program.py")
    if any(not view.facts.framework(one.framework).native_stack for one in hung):
        yield "- The native stack of the hang, which a report takes where py-spy is installed:"
        yield from _format_shell_block("python -m pip install py-spy && tpustarter report")
    if view.facts.metadata.waits_for_other_hosts:
        yield "- The same report of each other host of the slice:"
        yield from _format_shell_block("tpustarter report --no-ask --yes")
    if tracker.id == "cloud-tpu":
        yield "- The state and the health of the TPU, as Google's API tells them:"
        yield from _format_shell_block("gcloud compute tpus tpu-vm describe TPU_NAME --zone=ZONE")


def _devices_start(view: ReportView) -> bool:
    return not any(
        "devices" in step.step and step.state != "answered"
        for name in frameworks.FRAMEWORKS
        for step in view.facts.framework(name).steps
    )


def _format_shell_block(*lines: str) -> Iterator[str]:
    yield ""
    yield "  ```sh"
    yield from (f"  {line}" for line in lines)
    yield "  ```"
    yield ""
