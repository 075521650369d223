"""Errors in several wordings: each gets the answer of its kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.explain import measure
from tests.support.failures import explain
from tpustarter.core import content
from tpustarter.explain import explanation_text, known_failures
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.log_scanner import FailureSign

FILE = Path(__file__).with_name("wordings.yml")
ROWS: Any = content.read_yaml(FILE.read_text())


def count_words(found: Explanation) -> int:
    """Return the number of printed words, as an installed program prints them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explanation_text, "format_commands", str)
        return len(explanation_text.render_explanation(found).split())


@pytest.mark.parametrize(
    "log",
    [
        "INFO Installing handler for SIGTERM, SIGSEGV and SIGABRT on a TPU VM",
        "ValueError: Splash attention kernel is only supported on TPU",
        "tpu Found ulimit of 9 and failed to automatically increase: Errno 24 Too many open files",
        "WARNING 11-30 23:04:44 [tpu_platform.py:412] Pin memory is not supported on TPU. (vllm)",
        "Unable to poll the TPU GCE Metadata: host=metadata.google.internal: Max retries exceeded",
    ],
)
def test_neighbour_of_a_failure_is_none(log: str) -> None:
    """A similar line with the words of a failure isn't matched as that failure."""
    assert explain(log).matches == ()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.get("failure") or row["mistake"])
def test_wording_gets_answer_of_its_kind(row: dict[str, Any]) -> None:
    """Each wording gets a failure first, or a mistake if no failure explains the end."""
    for log in row["logs"]:
        found = explain(log)

        assert count_words(found) <= explanation_text.MAX_WORDS, log
        if "failure" in row:
            assert row["failure"] == found.matches[0].failure.id, log
        else:
            assert not found.is_explained, log
            assert found.mistake, log
            assert re.search(row["mistake"], found.mistake.mistake.means), log


def test_printed_answers_are_short() -> None:
    """The printed answer to each row and each kept log is short, including its quotes."""
    signs = tuple(FailureSign(str(line), line, "word " * 60 + str(line)) for line in (1, 2))
    rows = known_failures.read_known_failures()
    found = {
        f"{row.id} {name}": Explanation(
            (FailureMatch(row, "confirmed", signs),), 2, "", "/v/bin/python", framework=name
        )
        for row in rows
        for name in ("", *row.fix_in)
    }
    for path in measure.LOGS.glob("*/*.log"):
        found[path.name] = explain(path.read_bytes())
    words = {name: count_words(one) for name, one in found.items()}

    assert {} == {
        name: count for name, count in words.items() if count > explanation_text.MAX_WORDS
    }


_COSTS = re.compile(
    r"^(?:unset\b|rm\b|sudo rm\b|gcloud \S.*\b(?:create|delete)\b|kubectl delete\b|"
    r"tpustarter tpu (?:create|delete)\b|PYTHON -m pip uninstall\b|"
    r"(?:Delete|Create|Unset|Remove)\b)"
)
"""The beginning of advice that costs money, or that deletes a setting or a thing."""


def test_first_advice_costs_and_deletes_nothing() -> None:
    """Advice that looks comes before it."""
    first = [
        (row.id, fixes[0])
        for row in known_failures.read_known_failures()
        for fixes in (row.fix, *row.fix_in.values())
    ]

    assert [] == [f"{name}: {fix}" for name, fix in first if _COSTS.match(fix)]


@pytest.mark.parametrize(
    ("log", "framework"),
    [
        ("File '/v/torch_xla/core/xla_model.py', line 5", "torch_xla"),
        ("File '/v/tensorflow/python/tpu/tpu.py', line 5", "tensorflow"),
        ("E external/org_tensorflow/tensorflow/core/tpu/tpu_api.cc:7] of any framework", ""),
        ("E tensorflow/compiler/xla/service/service.cc:7] of any framework", ""),
    ],
)
def test_framework_of_log_chooses_fixes(log: str, framework: str) -> None:
    """Advice is that of the framework; a C++ file of TensorFlow names none."""
    found = explain(f"{log}\nUnexpected PJRT_Client_Create_Args size: expected 9, got 8")
    row = found.matches[0].failure

    shown = explanation_text.list_fixes(found.matches[0], "", found.framework)

    assert framework == found.framework
    assert len(row.fix_in.get(framework, row.fix)) == len(shown)
    assert ("tensorflow-tpu" in " ".join(shown)) == (framework == "tensorflow")


def test_cuda_logs_are_no_tpu_failures() -> None:
    """The real logs of programs that ask for CUDA get the mistake, and no failure."""
    names = ("torch-no-nvidia-driver", "torch-not-compiled-with-cuda", "torch-nccl-no-gpus-found")
    for name in names:
        [log] = measure.LOGS.glob(f"*/{name}.log")
        found = explain(log.read_text(encoding="utf-8"))

        assert found.mistake, name
        assert "port-a-cuda-script" in found.mistake.command
        shown = explanation_text.render_explanation(found)
        assert "a mistake in the program" not in shown
