"""Comparison files of any bytes and any shape: a comparison or one error, in bounded time.

What is sound for `saved.read` must be comparable and showable, whatever stands in it.
"""

from __future__ import annotations

import copy
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.processes import HANG_S
from tests.support.runs import FINDING, result, run_of
from tests.support.sessions import drive
from tpustarter.checking.output import run_comparison_text, run_document
from tpustarter.checking.results import run_comparison, saved_reports
from tpustarter.core.problem import ExitCode, Problem

LONGEST_S = 5.0
"""Processor time for one file in this process; most take a few milliseconds."""
many = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def report() -> dict[str, Any]:
    """Return the report of a run with figures, as it is read back."""
    findings = tuple(
        {**FINDING, "found": value, "unit": unit, "entity": f"device:{index}"}
        for index, (value, unit) in enumerate([(1, None), (2.5, "GB/s"), (3.0, "s"), ("x", None)])
    )
    run = run_of(result("pass"), result("fail", "jax.b", findings=findings))
    return json.loads(run_document.format_json_line(run_document.make_json_document(run)))


NOW = report()


def read_and_compare(path: Path) -> str | None:
    """Compare a file as `check --compare` does; return the code and text of its error, or None."""
    began = time.thread_time()
    try:
        name, before = saved_reports.read_report(str(path))
    except Problem as problem:
        return f"{int(problem.code)} {problem.full_text}"
    changed = run_comparison.compare_runs(name, before, saved_reports.parse_saved_report(NOW))
    text = run_comparison_text.render_comparison(changed)
    run_document.format_json_line({**NOW, "comparison": msgspec.to_builtins(changed)})

    assert all(len(line) <= 90 for line in text.splitlines())
    assert all(character.isprintable() or character == "\n" for character in text)
    assert time.thread_time() - began < LONGEST_S
    return None


@many
@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-16")))
def test_any_bytes_are_an_error(tmp_path: Path, data: bytes) -> None:
    """Random bytes are an error, and never a report."""
    path = tmp_path / "report.json"
    path.write_bytes(data)

    error = read_and_compare(path)

    assert error is not None
    assert error.startswith(f"{int(ExitCode.CONFIGURATION)} cannot compare with `")
    assert len(error) < 1000


@many
@given(st.data())
def test_a_damaged_report_is_an_error_or_compared(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes taken out, put in or doubled anywhere in a sound one."""
    whole = bytearray(json.dumps(report()).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(len(whole), start + 40)))
        whole[start:end] = data.draw(st.binary(max_size=8) | st.just(bytes(whole[start:end]) * 2))
    path = tmp_path / "report.json"
    path.write_bytes(whole)
    read_and_compare(path)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([10**400, -(10**400), 1e308, 5e-324, -0.0, "pass", "\x1b[2J", "\ud800", ""])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    ways = [at] if at else []
    if isinstance(value, dict | list):
        for key, item in inner:
            ways += places(item, (*at, key)) if isinstance(item, dict | list) else [(*at, key)]
    return ways


@many
@given(st.data())
def test_value_of_any_kind_anywhere_is_no_bug(tmp_path: Path, data: st.DataObject) -> None:
    """Wrong kinds, huge numbers, NaN, lone surrogates and escape sequences in a sound report."""
    fields = report()
    for _ in range(data.draw(st.integers(1, 3))):
        way = data.draw(st.sampled_from(places(fields)))
        inner: Any = fields
        for key in way[:-1]:
            inner = inner[key]
        if data.draw(st.booleans()):
            inner[way[-1]] = data.draw(VALUES)
        elif isinstance(inner, dict):
            inner[data.draw(st.text(max_size=8))] = inner.pop(way[-1])
    path = tmp_path / "report.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    read_and_compare(path)


def _with(**more: Any) -> Callable[[], str]:
    return lambda: json.dumps({**report(), **more})


def _many(count: int) -> Callable[[], str]:
    def text() -> str:
        fields = report()
        fields["results"] = [
            {**copy.deepcopy(fields["results"][0]), "id": f"jax.{n}"} for n in range(count)
        ]
        return json.dumps(fields)

    return text


def _nested(opening: str, closing: str, count: int) -> Callable[[], str]:
    return lambda: opening * count + "1" + closing * count


DOCUMENTS: dict[str, tuple[Callable[[], str], int]] = {
    "an empty file": (lambda: "", 78),
    "null": (lambda: "null", 78),
    "a list": (lambda: "[]", 78),
    "a byte order mark": (lambda: "\ufeff" + json.dumps(report()), 0),
    "lists in lists": (_nested("[", "]", 200_000), 78),
    "objects in objects": (_nested('{"a":', "}", 200_000), 78),
    "a report with nesting": (
        lambda: json.dumps(report())[:-1] + ', "more": ' + "[" * 500 + "]" * 500 + "}",
        0,
    ),
    "a whole number of 5000 digits": (
        lambda: json.dumps(report()).replace('"found": 2.5', '"found": ' + "9" * 5000),
        78,
    ),
    "a number that is infinite": (
        lambda: json.dumps(report()).replace('"found": 2.5', '"found": 1e999'),
        78,
    ),
    "not a number": (lambda: json.dumps(report()).replace('"found": 2.5', '"found": NaN'), 78),
    "ten thousand results": (_many(10_000), 0),
    "an id of a megabyte": (lambda: json.dumps(report()).replace("jax.b", "b" * 10**6), 0),
    "results that are one object": (_with(results={"a": 1}), 78),
    "a schema of the future": (_with(schema="tpustarter.report/2"), 78),
    "a schema of a million digits": (_with(schema="tpustarter.report/" + "9" * 10**6), 78),
    "the document of a lesson": (_with(schema="tpustarter.learn/1"), 78),
    "an error": (_with(error={"what": "x"}), 78),
    "an environment of 200,000 names": (
        lambda: json.dumps(
            {
                **report(),
                "target": {**report()["target"], "env": {str(n): n for n in range(200_000)}},
            }
        ),
        0,
    ),
    "escape sequences": (
        lambda: json.dumps(report()).replace("jax.b", "\\u001b[2J\\u001b]0;x\\u0007\\ud800"),
        0,
    ),
}
"""What lies in the file, and the code that `check --compare` ends with."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_document_has_one_code_and_document(name: str, tmp_path: Path) -> None:
    """A hostile document is refused or compared, and stdout is one document either way."""
    make, code = DOCUMENTS[name]
    path = tmp_path / "report.json"
    path.write_text(make(), encoding="utf-8")
    words = drive("check", "host.passes", "--json", "--compare", str(path))
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert code == done.returncode, done.stderr
    assert code == json.loads(done.stdout)["exit_code"]
    assert "Traceback" not in done.stderr
