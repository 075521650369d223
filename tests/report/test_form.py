"""The report as Markdown: each tracker's own questions, what is first, and nothing lost."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.interpreters import Interpreter, installed
from tpustarter.problem import Problem
from tpustarter.report import form, judging, making, trackers
from tpustarter.report.collecting import Context

HELD = (
    "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by "
    "process with pid 4242. Not attempting to load libtpu.so in this process.\n"
)
HEADINGS = {
    "jax": ["### Description",
            "### System info (python version, jaxlib version, accelerator, etc.)"],
    "pytorch-xla": ["## 🐛 Bug", "## To Reproduce", "## Expected behavior", "## Environment",
                    " - Reproducible on XLA backend [CPU/TPU]:", " - torch_xla version:",
                    "## Additional context"],
    "torchtpu": ["## Description", "## Versions", "- torch_tpu:"],
    "tensorflow": ["### Issue type", "### Have you reproduced the bug with TensorFlow Nightly?",
                   "### TensorFlow version", "### OS platform and distribution",
                   "### Python version", "### Current behavior?",
                   "### Standalone code to reproduce the issue", "### Relevant log output"],
    "cloud-tpu": ["### TPU", "### Zone", "### Runtime version", "### Project and TPU name"],
}  # fmt: skip
"""What the trackers' forms ask for, as read in 2026-11."""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a report on a v5e machine with an old JAX and a log."""
    folder = tmp_path_factory.mktemp("form")
    (folder / "root").mkdir()
    machine = lay_out(folder / "root", "v5e", chips=8)
    make_python(folder / "v", jax="0.4.34", libtpu="0.0.17")
    python = Interpreter(folder / "v/bin/python", "--python", installed(folder / "v"))
    log = folder / "train.log"
    log.write_text(f"step 1\n{HELD}")
    return making.make(Context(machine, folder, python, log), asks=False).document


@pytest.mark.parametrize("tracker", HEADINGS)
def test_each_form_is_that_of_its_tracker(tracker: str, document: dict[str, Any]) -> None:
    """In the order of its questions."""
    one = copy.deepcopy(document)
    one["first"]["tracker"] = tracker
    text = form.markdown(one)
    places = [text.find(f"\n{heading}") for heading in HEADINGS[tracker]]

    assert places == sorted(places)
    assert -1 not in places
    assert text.startswith("## Before you file")
    assert len(text) < form.LONGEST


def test_what_is_first_says_stale_versions_a_known_failure_and_where(
    document: dict[str, Any],
) -> None:
    """The three things that save a maintainer an answer."""
    before = form.markdown(document).partition("### Description")[0]

    assert "**Stale version**: jax 0.4.34" in before
    assert "`tpu-in-use-by-pid`" in before
    assert "github.com/jax-ml/jax/issues/new" in before


def test_every_fact_of_the_document_is_in_what_is_shown(document: dict[str, Any]) -> None:
    """So nothing is written that was not seen; a text of several lines is indented."""
    shown = form.markdown(document, limit=1 << 30)
    lines = [
        line
        for one in document["sections"]
        for text in making.texts(one["facts"])
        for line in text.split("\n")
        if line.strip()
    ]

    assert len(lines) > 50
    assert [] == [line for line in lines if line not in shown]


def test_what_is_too_long_for_an_issue_is_named(document: dict[str, Any]) -> None:
    """It stays in report.json."""
    text = form.markdown(document, limit=3000)

    assert "too long for an issue, see report.json" in text
    assert len(text) < 6000


def test_facts_cannot_become_markup(document: dict[str, Any]) -> None:
    """A fence is longer than any in the text."""
    one = copy.deepcopy(document)
    logs = {"name": "logs", "title": "Logs", "state": "answered", "why": None, "seconds": 0,
            "facts": {"last_lines": ["```\n</details><script>x</script>\n````"]}}  # fmt: skip
    one["sections"] = [logs]
    text = form.markdown(one)
    fence = re.findall(r"^`{3,}", text, re.MULTILINE)

    assert "`````" in fence


def test_without_a_word_the_tracker_is_that_of_what_is_installed() -> None:
    """And where host checks fail on a TPU VM it is Google's."""
    torch = {"python": {"packages": {"torch": "2.9.0", "torch_xla": "2.9.0"}}}
    failing = {"tpu": {"chips": 4}, "checks": {"findings": [
        {"code": "HOST-CHIPS-NODES", "verdict": "fail"}]}}  # fmt: skip

    assert "pytorch-xla" == judging.first(torch, [], None)["tracker"]
    assert "cloud-tpu" == judging.first({**torch, **failing}, [], None)["tracker"]
    assert "jax" == judging.first({**torch, **failing}, [], "jax")["tracker"]
    assert [] == judging.first(torch, [], None)["stale"]


def test_what_a_hang_may_wait_for_is_told_where_something_shows_it() -> None:
    """The native stack knows best; several hosts wait for each other."""
    jax = {"hung_in": "jax.devices()", "waited_s": 30.0}
    native = {"jax": {**jax, "native_stack": "libtpu::FetchGceInstanceAttributeMetadata"}}
    chips = {"jax": jax, "tpu": {"chips": 4}}
    hosts = {"jax": jax, "metadata": {"waits_for_other_hosts": True}}
    silent = [{"name": "metadata", "why": "", "seconds": 2}]

    def likely(facts: dict[str, Any], unanswered: list[dict[str, Any]]) -> str:
        return str(judging.first(facts, unanswered, None)["hung"][0]["likely"])

    assert "native stack shows" in likely(native, [])
    assert "the metadata server gives no answer" in likely(chips, silent)
    assert "one of several hosts" in likely(hosts, [])
    assert "None" == likely({"jax": jax}, silent)


@pytest.mark.parametrize(
    "name", ["JAX", "torch_xla", "PyTorch/XLA", "TorchTPU", "tf", "Cloud TPU support"]
)
def test_trackers_have_the_names_of_their_products_too(name: str) -> None:
    """As people type them."""
    assert trackers.named(name) in trackers.TRACKERS


def test_another_name_lists_those_there_are() -> None:
    """With what was typed."""
    with pytest.raises(Problem, match="`--for mxnet` names no tracker, expected one of jax, pyt"):
        trackers.named("mxnet")


def test_the_newest_versions_fit_an_older_python() -> None:
    """A Python 3.10 has no newer JAX than 0.6.2."""
    packages = {"jax": "0.6.2", "jaxlib": "0.6.2"}

    def stale(python: str) -> list[str]:
        facts = {"python": {"packages": packages, "python_version": python}}
        return [one["name"] for one in judging.first(facts, [], None)["stale"]]

    assert [] == stale("3.10.12")
    assert ["jax", "jaxlib"] == stale("3.12.1")


def test_schema_ids_do_not_change() -> None:
    """Others read them."""
    assert "tpustarter.bug-report/1" == making.SCHEMA
    assert Path(making.__file__).with_name("schema.json").is_file()
