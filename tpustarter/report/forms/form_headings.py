"""The trackers' forms as data: the headings of each, and the functions that fill them in.

Labels match the public forms letter for letter, because the trackers' bots and maintainers read
them; each form names its source. The forms were read in 2026-11.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tpustarter.report.forms import (
    issue_trackers,
    open_questions,
    report_summary,
    reproducer_files,
)
from tpustarter.report.forms.report_view import ReportView, fence_text
from tpustarter.report.report_document import FRAMEWORK_SECTIONS, FrameworkFacts

YOURS = "<!-- Yours to write: {} -->"
NO_RESPONSE = "_No response_"
"""GitHub's text for an empty optional field."""
FACTS_PLACEHOLDER = "\0facts"
"""Placeholder for all facts."""
COLUMNS = 100
"""Widest fenced line that GitHub shows without a scroll bar."""
MAX_FRAMES = 14
"""Innermost frames of a stack that are shown unfolded."""

Fill = Callable[[ReportView], Iterator[str]]


class FormField(NamedTuple):
    """A form's heading, and the function that yields the lines after it."""

    heading: str
    fill: Fill


def fill_form(view: ReportView) -> Iterator[str]:
    """Yield the form of the report's tracker line by line, with a placeholder for all facts."""
    for field in FORMS[view.first.tracker]:
        yield field.heading
        yield ""
        yield from field.fill(view)
        yield ""


def _fill_from(text: Callable[[ReportView], str]) -> Fill:
    return lambda view: iter((text(view),))


def _fill_with(text: str) -> Fill:
    return _fill_from(lambda _: text)


def format_description(view: ReportView) -> Iterator[str]:
    """Yield the questions for the user's description, followed by the symptoms."""
    yield open_questions.format_questions_comment(open_questions.list_user_questions(view))
    yield ""
    yield from format_symptoms(view)
    if "code" not in issue_trackers.find_tracker(view.first.tracker).asked_in_form:
        yield ""
        yield from reproducer_files.format_reproducers(view)


def format_symptoms(view: ReportView) -> Iterator[str]:
    """Yield the failures that the log, the frameworks or the checks showed."""
    for one in view.first.known:
        yield f"Seen in {one.source}, line {one.line}:"
        yield from fence_text(one.quote)
    last = view.facts.known.last_error
    if last and not any(one.quote == last for one in view.first.known):
        yield "The last line of the log that looks like an error:"
        yield from fence_text(last)
    hung_steps: set[str] = set()
    for name in FRAMEWORK_SECTIONS:
        facts = view.facts.framework(name)
        if error := facts.error.strip():
            yield f"{name} said:"
            yield from fence_text("\n".join(error.splitlines()[-3:]))
        if facts.hung_in and facts.hung_in not in hung_steps:
            hung_steps.add(facts.hung_in)
            yield f"{name} hung in `{facts.hung_in}` for {facts.waited_s} s, and was ended."
            yield from _format_stack(facts)
        if unfinished := report_summary.describe_unfinished_import(view, name):
            yield f"{unfinished}."
    for one in view.facts.checks.findings:
        if one.verdict == "fail":
            yield f"- {one.check} fails: {one.what}"


def _format_stack(facts: FrameworkFacts) -> Iterator[str]:
    """Yield the innermost frames of a hang, from the native stack if there is one."""
    stack = facts.native_stack or facts.python_stack
    frames = [line for line in stack.splitlines() if "<frozen importlib" not in line]
    if frames:
        yield "It waited in (innermost frame first):"
        yield from fence_text("\n".join(frames[:MAX_FRAMES]))
    yield ""


def format_facts_summary(view: ReportView) -> Iterator[str]:
    """Yield the summary for maintainers, followed by the placeholder for all facts."""
    yield "Collected by tpustarter, and in full in the folded parts below:"
    lines = (part for line in report_summary.summarize_report(view) for part in _wrap(line))
    yield from fence_text("\n".join(lines))
    yield ""
    yield FACTS_PLACEHOLDER


def _wrap(line: str) -> list[str]:
    return textwrap.wrap(line, COLUMNS, subsequent_indent="    ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def _fill_jax_system(view: ReportView) -> Iterator[str]:
    """Yield the output of `jax.print_environment_info()`, or the same facts from files."""
    yield from fence_text(_format_jax_environment(view))
    yield ""
    yield from format_facts_summary(view)


def _format_jax_environment(view: ReportView) -> str:
    jax, program = view.facts.framework("jax"), view.facts.program
    if jax.environment_info:
        ours = "(asked by tpustarter on the CPU, because no TPU can be used here)\n"
        return f"{ours if jax.planned_platform == 'cpu' else ''}{jax.environment_info}"
    why = f"did not answer: `{jax.hung_in}` hung" if jax.hung_in else "was not told"
    why = report_summary.describe_unfinished_import(view, "jax") or why
    values = view.facts.variables.values
    lines = [
        *(f"{name}: {view.package_version(name)}" for name in ("jax", "jaxlib", "numpy")),
        f"python: {view.facts.python.python_version}",
        f"device info: {why}; {report_summary.describe_chips(view)}",
        f"platform: {program.system}, {program.kernel}, {program.architecture}",
        *(f"{name}={value}" for name, value in values.items() if name.startswith(("JAX_", "XLA_"))),
    ]
    return "\n".join(["(print_environment_info() gave no answer; read from files)", *lines])


def _fill_steps(view: ReportView) -> Iterator[str]:
    yield "Steps to reproduce the behavior:"
    yield ""
    yield from format_reproducer(view)


def format_reproducer(view: ReportView) -> Iterator[str]:
    """Yield the code that reproduces the failures, or a request to the user if there is none."""
    made = [*reproducer_files.format_reproducers(view)]
    yours = YOURS.format("the shortest code that shows it, with data that it makes itself")
    yield from made or [yours]


def _fill_xla_environment(view: ReportView) -> Iterator[str]:
    cpu = YOURS.format("CPU, TPU or both; `PJRT_DEVICE=CPU` runs it without the TPU")
    yield f" - Reproducible on XLA backend [CPU/TPU]: {cpu}"
    yield f" - torch_xla version: {view.package_version('torch_xla')}"


def _fill_versions(view: ReportView) -> Iterator[str]:
    yield from (
        f"- {name}: {view.package_version(name)}" for name in ("torch_tpu", "torch", "libtpu")
    )
    yield f"- Python: {view.facts.python.python_version}"
    yield ""
    yield from format_facts_summary(view)


def _format_tensorflow_version(view: ReportView) -> str:
    version = view.package_version("tensorflow")
    if version == "not installed":
        version = view.package_version("tensorflow-tpu")
    built = view.facts.framework("tensorflow").built_from
    return f"{version} ({built})" if built else version


def _find_tensorflow_source(view: ReportView) -> str:
    built = view.facts.python.not_from_an_index
    own = {one for name, one in built.items() if name.startswith("tensorflow")}
    return "source" if own & {"a repository", "a folder"} else "binary"


def _fill_tensorflow_behavior(view: ReportView) -> Iterator[str]:
    yield open_questions.format_questions_comment(open_questions.list_user_questions(view))
    yield ""
    yield from format_facts_summary(view)


def _fill_log(view: ReportView) -> Iterator[str]:
    """Yield the symptoms without their own fences, because the form fences them."""
    seen = [line for line in format_symptoms(view) if line and not line.startswith("```")]
    yield from fence_text(
        "\n".join(seen) or "no error was seen while this report was made", "shell"
    )


def _fill_time(view: ReportView) -> Iterator[str]:
    yield YOURS.format("from when to when, with date and time zone as in the next line")
    yield ""
    yield f"This report was made at {view.document.made}."


def _format_product(view: ReportView) -> str:
    metadata = view.facts.metadata
    where = "GKE" if view.facts.resources.container == "kubernetes" else "Cloud TPU"
    version = metadata.runtime_version and f"runtime version {metadata.runtime_version}"
    return ", ".join(
        filter(
            None, (where, metadata.accelerator_type, report_summary.describe_chips(view), version)
        )
    )


def _fill_artifacts(view: ReportView) -> Iterator[str]:
    yield from format_description(view)
    yield ""
    yield from reproducer_files.format_reproducers(view)
    yield from format_facts_summary(view)


FORMS: Mapping[str, tuple[FormField, ...]] = {
    # github.com/jax-ml/jax/blob/main/.github/ISSUE_TEMPLATE/bug-report.yml
    "jax": (
        FormField("### Description", format_description),
        FormField(
            "### System info (python version, jaxlib version, accelerator, etc.)", _fill_jax_system
        ),
    ),
    # github.com/pytorch/xla/blob/master/.github/ISSUE_TEMPLATE/bug-report.md
    "pytorch-xla": (
        FormField("## 🐛 Bug", format_description),
        FormField("## To Reproduce", _fill_steps),
        FormField("## Expected behavior", _fill_with(YOURS.format("what you expected"))),
        FormField("## Environment", _fill_xla_environment),
        FormField("## Additional context", format_facts_summary),
    ),
    # No form is public; these are the two parts of PyTorch's own form.
    # github.com/pytorch/pytorch/blob/main/.github/ISSUE_TEMPLATE/bug-report.yml
    "torchtpu": (
        FormField("### Description", format_description),
        FormField("### Versions", _fill_versions),
    ),
    # Labels as in issues of 2025-11, such as github.com/tensorflow/tensorflow/issues/104982; the
    # file is .github/ISSUE_TEMPLATE/tensorflow_issue_template.yaml.
    "tensorflow": (
        FormField("### Issue type", _fill_with("Bug")),
        FormField("### Have you reproduced the bug with TensorFlow Nightly?",
              _fill_with(YOURS.format("Yes or No"))),
        FormField("### Source", _fill_from(_find_tensorflow_source)),
        FormField("### TensorFlow version", _fill_from(_format_tensorflow_version)),
        FormField("### Custom code", _fill_with(YOURS.format("Yes or No"))),
        FormField("### OS platform and distribution",
              _fill_from(lambda view: f"{view.facts.program.system}, kernel "
                                 f"{view.facts.program.kernel}")),
        FormField("### Mobile device", _fill_with(NO_RESPONSE)),
        FormField("### Python version", _fill_from(lambda view: view.facts.python.python_version)),
        FormField("### Bazel version", _fill_with(NO_RESPONSE)),
        FormField("### GCC/compiler version", _fill_with(NO_RESPONSE)),
        FormField("### CUDA/cuDNN version", _fill_with(NO_RESPONSE)),
        FormField(
            "### GPU model and memory",
            _fill_from(lambda view: f"no GPU; {report_summary.describe_chips(view)}"),
        ),
        FormField("### Current behavior?", _fill_tensorflow_behavior),
        FormField("### Standalone code to reproduce the issue", format_reproducer),
        FormField("### Relevant log output", _fill_log),
    ),
    # The parts of a case that Google's support asks for, in the same order.
    # cloud.google.com/support/docs/best-practice
    "cloud-tpu": (
        FormField("### Time", _fill_time),
        FormField("### Product", _fill_from(_format_product)),
        FormField("### Location",
              _fill_from(lambda view: view.facts.metadata.zone or YOURS.format("the zone"))),
        FormField("### Identifiers", _fill_with(YOURS.format(
            "project, TPU or node pool, and host; give them in the case, which is private, because "
            "this file has none"))),
        FormField("### Useful artifacts", _fill_artifacts),
        FormField("### Problem type",
              _fill_with(YOURS.format("intermittent, transient or consistent"))),
    ),
}  # fmt: skip
