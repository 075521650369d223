"""The report as Markdown: each tracker's questions, the first answers, and nothing lost."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions
from tpustarter.core.problem import Problem
from tpustarter.report import make_report, triage
from tpustarter.report.clean.allowed_fields import WITHHELD
from tpustarter.report.collect.collector import ReportContext
from tpustarter.report.forms import issue_trackers, markdown_form, open_questions, report_summary
from tpustarter.report.forms.report_view import ReportView
from tpustarter.report.report_document import ReportFacts, ReportSection, read_facts

HELD = (
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by "
    "process with pid 4242. Not attempting to load libtpu.so in this process.\n"
)
LABELS = {
    "jax": [
        "### Description",
        "### System info (python version, jaxlib version, accelerator, etc.)",
    ],
    "pytorch-xla": [
        "## 🐛 Bug",
        "## To Reproduce",
        "## Expected behavior",
        "## Environment",
        "## Additional context",
    ],
    "torchtpu": ["### Description", "### Versions"],
    "tensorflow": [
        "### Issue type",
        "### Have you reproduced the bug with TensorFlow Nightly?",
        "### Source",
        "### TensorFlow version",
        "### Custom code",
        "### OS platform and distribution",
        "### Mobile device",
        "### Python version",
        "### Bazel version",
        "### GCC/compiler version",
        "### CUDA/cuDNN version",
        "### GPU model and memory",
        "### Current behavior?",
        "### Standalone code to reproduce the issue",
        "### Relevant log output",
    ],
    "cloud-tpu": [
        "### Time",
        "### Product",
        "### Location",
        "### Identifiers",
        "### Useful artifacts",
        "### Problem type",
    ],
}
"""What the trackers' forms ask for, all of it and in this order, as read in 2026-11."""
BEGINS = "<!-- The issue begins here. -->"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a report on a v5e machine with an old JAX and a log."""
    folder = tmp_path_factory.mktemp("form")
    (folder / "root").mkdir()
    machine = lay_out(folder / "root", "v5e", chips=8)
    make_python(folder / "v", jax="0.4.34", libtpu="0.0.17")
    python = Interpreter(folder / "v/bin/python", "--python", read_framework_versions(folder / "v"))
    log = folder / "train.log"
    log.write_text(f"step 1\n{HELD}")
    return make_report.make_report(
        ReportContext(machine, folder, python, log), query_frameworks=False, reproducer_ids=None
    ).document


def issue(document: dict[str, Any], tracker: str = "jax") -> str:
    """Return the text of the issue, without the part that only the user reads."""
    document["first"]["tracker"] = tracker
    before, _, text = markdown_form.render_markdown(document).partition(BEGINS)
    assert before.startswith("## Before you file\n")
    return text


def known_facts(document: dict[str, Any], **sections: dict[str, Any]) -> dict[str, Any]:
    """Return the document with other facts in some of its sections."""
    one = copy.deepcopy(document)
    there = {section["name"]: section for section in one["sections"]}
    for name, facts in sections.items():
        if name not in there:
            there[name] = {"name": name, "title": name, "why": None, "seconds": 0, "facts": {}}
            one["sections"].append(there[name])
        there[name]["state"] = "answered"
        there[name]["facts"] = {**there[name]["facts"], **facts}
    return one


@pytest.mark.parametrize("tracker", LABELS)
def test_form_has_fields_of_its_tracker(tracker: str, document: dict[str, Any]) -> None:
    """Every field of it, in its order, and no other."""
    text = issue(copy.deepcopy(document), tracker)

    assert LABELS[tracker] == re.findall(r"^#{2,3} .*", text, re.MULTILINE)
    assert len(text) < markdown_form.LONGEST
    assert 1 == text.count("<summary>Python under test")


def test_field_content_stays_in_its_field(document: dict[str, Any]) -> None:
    """A field's content stays within it, although TensorFlow's form fences its last fields."""
    text = issue(copy.deepcopy(document), "tensorflow")
    behavior, code, log = re.split("### Standalone code.*|### Relevant log output", text)

    assert "<details>" in behavior
    assert "<details>" not in code + log
    assert "already in use by process with pid 4242" in log
    assert " - torch_xla version: " in issue(copy.deepcopy(document), "pytorch-xla")


@pytest.mark.parametrize(("origin", "source"), [("a folder", "source"), ("a file", "binary")])
def test_own_tensorflow_build_is_source(origin: str, source: str, document: dict[str, Any]) -> None:
    """An own build of TensorFlow is given as the source in its form."""
    one = known_facts(document, python={"not_from_an_index": {"tensorflow": origin}})

    assert f"### Source\n\n{source}\n" in issue(one, "tensorflow")


def test_text_for_user_fits_terminal(document: dict[str, Any]) -> None:
    """The text for the user before the issue fits a terminal of 80 columns."""
    for tracker in LABELS:
        one = copy.deepcopy(document)
        one["first"]["tracker"] = tracker
        before = markdown_form.render_markdown(one).partition(BEGINS)[0]

        assert [] == [line for line in before.split("\n") if len(line) > 80 and " " in line.strip()]


def test_only_questions_left_open_remain(document: dict[str, Any]) -> None:
    """Only the questions remain that the report's facts leave open."""
    metadata = {"runtime_version": "v2-alpha-tpuv5-lite", "hosts": 4}
    known = known_facts(
        document, metadata=metadata, resources={"container": "docker"}, changes={"since": "then"}
    )
    known["first"]["stale"] = []
    asked = "\n".join(open_questions.list_user_questions(ReportView(document)))
    left = "\n".join(open_questions.list_user_questions(ReportView(known)))

    assert "with its runtime version" in asked
    assert "newest jax and jaxlib" in asked
    assert "and since when" in asked
    assert "Which image" not in asked
    assert "Which image" in left
    assert "each of the 4 hosts" in left
    for answered in ("runtime version", "newest", "since when"):
        assert answered not in left


@pytest.mark.parametrize("tracker", LABELS)
def test_shortest_code_is_requested_once(tracker: str, document: dict[str, Any]) -> None:
    """Some forms have a field of their own for the code."""
    text = issue(copy.deepcopy(document), tracker)

    assert (0 if tracker == "cloud-tpu" else 1) == text.lower().count("the shortest code")


def next_steps(document: dict[str, Any]) -> str:
    """Return the commands that collect more."""
    return "\n".join(open_questions.format_next_steps(ReportView(document)))


def test_next_steps_fit_known_facts(document: dict[str, Any]) -> None:
    """A hang has no program to dump, and its native stack is missing without py-spy."""
    hangs = copy.deepcopy(document)
    hangs["first"]["hung"] = [
        {"framework": "jax", "in": "jax.devices()", "seconds": 30.0, "likely": None}
    ]
    stack = known_facts(hangs, jax={"native_stack": "libtpu::Wait"})
    hosts = known_facts(document, metadata={"waits_for_other_hosts": True})
    confirmed = copy.deepcopy(document)
    confirmed["first"]["known"][0]["confidence"] = "confirmed"

    assert "TPU_STDERR_LOG_LEVEL=0" in next_steps(document)
    assert "--xla_dump_to" in next_steps(document)
    assert "--xla_dump_to" not in next_steps(hangs)
    assert "py-spy" in next_steps(hangs)
    assert "py-spy" not in next_steps(stack)
    assert "tpustarter report --no-ask" in next_steps(hosts)
    assert "" == next_steps(confirmed)


def test_inner_frames_of_hang_are_not_folded(document: dict[str, Any]) -> None:
    """The inner frames of a hang, native ones first, aren't folded."""
    imports = "<frozen importlib._bootstrap>, line 1\n"
    stack = imports * 40 + "File x\n" * 40
    python = {"hung_in": "jax.devices()", "waited_s": 30, "python_stack": stack}
    native = {**python, "native_stack": "\n".join(f"libtpu::Wait{n}" for n in range(99))}

    def description(facts: dict[str, Any]) -> str:
        return issue(known_facts(document, jax=facts)).partition("### System info")[0]

    assert "hung in `jax.devices()`" in description(python)
    assert "File x" in description(python)
    assert "libtpu::Wait9" in description(native)
    assert "libtpu::Wait50" not in description(native)
    assert "importlib" not in description(python)


def test_shared_hang_appears_once_as_possibly_slow_import(document: dict[str, Any]) -> None:
    """Two frameworks import the same one, from a disk that is cold."""
    one = known_facts(
        document,
        torch={"hung_in": "import torch", "waited_s": 60.0},
        torch_xla={"hung_in": "import torch", "waited_s": 60.0},
    )
    one["first"]["hung"] = [
        {"framework": name, "in": "import torch", "seconds": 60.0, "likely": None}
        for name in ("torch", "torch_xla")
    ]
    text = markdown_form.render_markdown(one)

    assert 1 == text.count("**Hang**")
    assert 1 == text.count("hung in `import torch` for")
    assert "may only be slow" in " ".join(text.split())


def test_slow_import_is_no_hang(document: dict[str, Any]) -> None:
    """A slow import isn't called a hang, and the machine's load is given as its reason."""
    slow = {"unfinished_in": "import torch", "waited_s": 30.0, "load": 7.0, "cores": 2}
    text = markdown_form.render_markdown(known_facts(document, torch=slow, torch_xla=slow))

    assert ("**Slow**" in text, "**Hang**" in text, "hung" in text) == (True, False, False)
    assert "(load 7 on 2 cores)" in " ".join(text.split())


def test_environment_read_on_cpu_is_marked(document: dict[str, Any]) -> None:
    """JAX's environment is marked as read on the CPU if no TPU can be used."""
    said = {"environment_info": "jax: 0.10.2\ndevice info: cpu-8"}

    assert "asked by tpustarter on the CPU" in issue(
        known_facts(document, jax={**said, "planned_platform": "cpu"})
    )
    assert "asked by tpustarter on the CPU" not in issue(
        known_facts(document, jax={**said, "planned_platform": "tpu"})
    )


def test_only_versions_tracker_requests_are_stale(document: dict[str, Any]) -> None:
    """JAX's maintainers have no use for the version of torch."""
    one = copy.deepcopy(document)
    one["first"]["stale"] = [{"name": "torch", "found": "2.9.0", "newest": "2.15.0"}]

    assert "Stale version" not in markdown_form.render_markdown(one)
    one["first"]["tracker"] = "torchtpu"
    assert "Stale version**: torch 2.9.0" in markdown_form.render_markdown(one)


def test_closing_tracker_is_named_before_issue(document: dict[str, Any]) -> None:
    """An archived repository takes no issue, so nobody should write one for it."""
    one = copy.deepcopy(document)
    one["first"]["tracker"] = "pytorch-xla"
    before = " ".join(markdown_form.render_markdown(one).partition(BEGINS)[0].split())

    assert "would be archived on 2026-11-15" in before
    assert "`--for torchtpu`" in before


def test_first_answers_for_maintainers_are_not_folded(document: dict[str, Any]) -> None:
    """The first answers for maintainers aren't folded."""
    one = known_facts(
        document,
        tpu={"lock": {"state": "live"}, "holders": [{"pid": 4242, "command": "python"}]},
        metadata={
            "accelerator_type": "v5litepod-8",
            "worker": 0,
            "hosts": 2,
            "zone": "us-east1-c",
            "runtime_version": "v2-alpha-tpuv5-lite",
        },
        python={
            "libtpu_build": "Built on Oct 1 2026",
            "installed_by": {"jax": "pip"},
            "hidden": [{"name": "libtpu", "version": "0.0.50"}],
            "other_libtpu": ["/lib/libtpu.so"],
            "not_from_an_index": {"jax": "a repository"},
        },
        variables={
            "values": {"JAX_PLATFORMS": "tpu"},
            "flags": ["XLA_FLAGS: --xla_x=1"],
            "set": ["LD_PRELOAD"],
        },
        resources={
            "cpu": "AMD EPYC 7B13",
            "uptime_s": 7200,
            "container": "docker",
            "host_network": False,
            "memory_bytes": 200 << 30,
            "limit_bytes": 16 << 30,
            "oom_kills": 2,
        },
        jax={
            "steps": [{"step": "import jax", "state": "answered"}],
            "platform": "tpu",
            "kind": "TPU v5 lite",
            "local": 8,
            "total": 16,
            "metrics": {"ici_link_health": ["0"], "tpu_throttle_score": ["1"]},
        },
        torch_xla={"steps": [{"step": "import torch_xla", "state": "failed"}]},
        torch={"steps": [{"step": "environment of PyTorch", "state": "failed"}]},
        changes={"versions": [{"name": "libtpu", "before": "0.0.17", "now": "0.0.50"}]},
    )
    told = "\n".join(report_summary.summarize_report(ReportView(one)))

    for line in (
        "device: 8 TPU chips (v5e), 8 reachable",
        "slice: v5litepod-8, worker 0 of 2, runtime version v2-alpha-tpuv5-lite, us-east1-c",
        "in use: pid 4242 (python); libtpu's lock is live",
        "libtpu: Built on Oct 1 2026; also /lib/libtpu.so",
        "installed: by pip; jax from a repository; libtpu 0.0.50 is claimed too",
        "jax: answers with 8 of 16 TPU v5 lite devices",
        "link health: 0",
        "throttling: 1",
        "torch_xla: failed in `import torch_xla`",
        "variables: JAX_PLATFORMS=tpu, XLA_FLAGS: --xla_x=1; set: LD_PRELOAD",
        "memory: 200 GiB in all, 16 GiB allowed, memory ran out, and the kernel ended 2 processes",
        "since the last good run: libtpu 0.0.17 became 0.0.50",
    ):
        assert line in told
    assert "torch: " not in told
    assert "AMD EPYC 7B13, " in told
    assert "up 2.0 h, in a container (docker, not the host's network)" in told


def test_hidden_list_is_shown_whole(document: dict[str, Any]) -> None:
    """A list that could not be cleaned is one text."""
    one = known_facts(document, jax={"metrics": {"ici_link_health": WITHHELD}})
    one["first"]["known"][0]["sources"] = WITHHELD
    shown = " ".join(markdown_form.render_markdown(one).split())

    assert "link health: (not told)" in shown
    assert "Read (not told) before you file." in shown


def test_summary_has_stale_versions_known_failure_and_tracker(document: dict[str, Any]) -> None:
    """The three things that save a maintainer an answer."""
    before = markdown_form.render_markdown(document).partition("### Description")[0]

    assert "**Stale version**: jax and jaxlib 0.4.34" in before
    assert "`tpu-in-use-by-pid`" in before
    assert "github.com/jax-ml/jax/issues/new" in before


def test_every_fact_of_document_is_shown(document: dict[str, Any]) -> None:
    """Every fact of the document is shown in the text."""
    shown = markdown_form.render_markdown(document, limit=1 << 30)
    lines = [
        line
        for one in document["sections"]
        for text in make_report.list_texts(one["facts"])
        for line in text.split("\n")
        if line.strip()
    ]

    assert len(lines) > 50
    assert [] == [line for line in lines if line not in shown]


def test_facts_too_long_for_issue_are_named(document: dict[str, Any]) -> None:
    """Facts that are too long for an issue are named and stay in report.json."""
    text = markdown_form.render_markdown(document, limit=3000)

    assert "too long for an issue, see report.json" in text
    assert len(text) < 6000


def test_facts_cannot_become_markup(document: dict[str, Any]) -> None:
    """A fence is longer than any in the text."""
    one = copy.deepcopy(document)
    logs = {
        "name": "logs",
        "title": "Logs",
        "state": "answered",
        "why": None,
        "seconds": 0,
        "facts": {"last_lines": ["```\n</details><script>x</script>\n````"]},
    }
    one["sections"] = [logs]
    text = markdown_form.render_markdown(one)
    fence = re.findall(r"^`{3,}", text, re.MULTILINE)

    assert "`````" in fence


def told(sections: dict[str, dict[str, Any]]) -> ReportFacts:
    """Return the facts of sections that were answered."""
    return read_facts(
        ReportSection(name, "", "answered", facts=facts) for name, facts in sections.items()
    )


def test_default_tracker_is_that_of_installed_framework() -> None:
    """The tracker is the installed framework's, or Google's if host checks fail on a TPU VM."""
    torch = {"python": {"packages": {"torch": "2.9.0", "torch_xla": "2.9.0"}}}
    failing = {
        "tpu": {"chips": 4},
        "checks": {"findings": [{"code": "HOST-CHIPS-NODES", "verdict": "fail"}]},
    }

    assert "pytorch-xla" == triage.triage_facts(told(torch), [], None).tracker
    assert "cloud-tpu" == triage.triage_facts(told({**torch, **failing}), [], None).tracker
    assert "jax" == triage.triage_facts(told({**torch, **failing}), [], "jax").tracker
    assert [] == triage.triage_facts(told(torch), [], None).stale


def test_equally_sure_failures_keep_their_order() -> None:
    """Of four that are equally sure the first three stay, and the root cause stays first."""
    rows = [{"id": name, "confidence": "likely"} for name in "abcda"]
    known = triage.triage_facts(told({"known": {"matches": rows}}), [], None).known

    assert ["a", "b", "c"] == [one.id for one in known]


def test_likely_cause_of_hang_needs_evidence() -> None:
    """The native stack knows best; several hosts wait for each other."""
    jax = {"hung_in": "jax.devices()", "waited_s": 30.0}
    native = {"jax": {**jax, "native_stack": "libtpu::FetchGceInstanceAttributeMetadata"}}
    chips = {"jax": jax, "tpu": {"chips": 4}}
    hosts = {"jax": jax, "metadata": {"waits_for_other_hosts": True}}
    silent = [ReportSection("metadata", "", "unanswered", seconds=2)]

    def likely(facts: dict[str, Any], unanswered: list[ReportSection]) -> str:
        return str(triage.triage_facts(told(facts), unanswered, None).hung[0].likely)

    assert "native stack shows" in likely(native, [])
    assert "the metadata server gives no answer" in likely(chips, silent)
    assert "one of several hosts" in likely(hosts, [])
    assert "None" == likely({"jax": jax}, silent)


@pytest.mark.parametrize(
    "name", ["JAX", "torch_xla", "PyTorch/XLA", "TorchTPU", "tf", "Cloud TPU support"]
)
def test_tracker_is_found_by_product_name(name: str) -> None:
    """A tracker is found by the names that people type."""
    assert issue_trackers.find_tracker(name) in issue_trackers.TRACKERS


def test_unknown_tracker_lists_valid_names() -> None:
    """An unknown tracker is refused with what was typed and the valid names."""
    with pytest.raises(Problem, match="`--for mxnet` is not a tracker, expected one of jax, pyt"):
        issue_trackers.find_tracker("mxnet")


def test_newest_versions_fit_older_python() -> None:
    """A Python 3.10 has no newer JAX than 0.6.2."""
    packages = {"jax": "0.6.2", "jaxlib": "0.6.2"}

    def stale(python: str) -> list[str]:
        facts = {"python": {"packages": packages, "python_version": python}}
        return [one.name for one in triage.triage_facts(told(facts), [], None).stale]

    assert [] == stale("3.10.12")
    assert ["jax", "jaxlib"] == stale("3.12.1")


def test_schema_ids_do_not_change() -> None:
    """Others read them."""
    assert "tpustarter.bug-report/1" == make_report.SCHEMA
    assert Path(make_report.__file__).with_name("schema.json").is_file()
