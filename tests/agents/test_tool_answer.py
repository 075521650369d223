"""The answer of a tool: the command's own document, and a bounded one where that is too long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpustarter.agents.tool_answer import MOST_CHARACTERS, make_answer
from tpustarter.cli.mcp import make_tools
from tpustarter.core.problem import Problem

WORDS = ["check", "--json", "--level=full", "--"]


def document(**fields: object) -> bytes:
    """Return the output of a command."""
    return json.dumps({"schema": "tpustarter.report/1", **fields, "exit_code": 0}).encode() + b"\n"


def test_document_is_passed_on_as_it_is() -> None:
    """With its spaces and escapes."""
    output = document(text="\u00e9" * 9000)

    assert output.decode().strip() == make_answer(WORDS, output, "", 0).text


@pytest.mark.parametrize(
    "fields",
    [
        {"log": "x" * 1_000_000},
        {"results": [{"log": "x" * 900, "n": n} for n in range(500)]},
        {"results": [{"findings": [{"found": n} for n in range(100)]} for _ in range(100)]},
        {"deep": [[["x" * 5000] * 20] * 20]},
    ],
)
def test_long_document_is_cut_and_says_so(fields: dict[str, Any]) -> None:
    """It is still JSON with the same fields, and names the command that prints all."""
    answer = make_answer(WORDS, document(**fields), "", 0)
    short = json.loads(answer.text)

    assert len(answer.text) <= MOST_CHARACTERS
    assert {*fields, "schema", "exit_code", "left_out"} == {*short}
    assert "`tpustarter check --json --level=full`" in short["left_out"]
    assert not answer.is_error


@pytest.mark.parametrize(
    "output", [b"", b"Segmentation fault", b"[1]", b'{"a": 1} {', b"\xff\xfe", b"[" * 100_000]
)
def test_output_without_document_is_error(output: bytes) -> None:
    """With the end of stderr, and by the schema of the command."""
    answer = make_answer(WORDS, output, "error: out of luck", 70)
    short = json.loads(answer.text)

    assert answer.is_error
    assert "tpustarter.report/1" == short["schema"]
    assert short["error"]["what"].endswith("error: out of luck")


def test_document_too_wide_to_cut_is_error() -> None:
    """A table of ten thousand fields has nothing to leave out."""
    answer = make_answer(WORDS, document(**{f"field-{n}": n for n in range(10_000)}), "", 0)

    assert "error" in json.loads(answer.text)
    assert len(answer.text) < MOST_CHARACTERS


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("check", {"ids": ["jax.*"], "level": "full"}, ["check", "--level=full", "--", "jax.*"]),
        ("check", {"this_host": True, "isolate": False}, ["check", "--this-host", "--"]),
        ("search", {"search": "--all"}, ["learn", "--search=--all", "--"]),
        ("lesson", {"lesson": "--lint"}, ["learn", "--", "--lint"]),
        (
            "rehearse",
            {"arg": ["a", "b"], "slices": 2},
            ["rehearse", "--slices=2", "--arg=a", "--arg=b", "--"],
        ),
        ("report", {"for": "jax", "no_ask": True}, ["report", "--for=jax", "--no-ask", "--"]),
    ],
)
def test_arguments_become_options(name: str, values: dict[str, object], words: list[str]) -> None:
    """A value is never taken for an option."""
    tool = next(tool for tool in make_tools() if tool.name == name)
    first, *rest = words

    assert ([first, "--json", *rest], b"") == tool.build_call(values)


WRITES = {"junit", "save", "plot", "notebook", "code", "force", "yes", "out", "fix", "all_hosts"}
"""Options of commands that write or start elsewhere; only `check` has one, behind --allow."""


def test_no_tool_has_option_that_writes() -> None:
    """Nor one that ends in a purchase: no tool is made of `tpu` or of `setup`."""
    tools = make_tools()
    found = {
        (t.name, a.name)
        for t in tools
        for a in t.arguments
        if {a.name, *a.name.split("_")} & WRITES
    }

    assert {("check", "save")} == found
    assert {"check", "explain", "learn", "rehearse", "plan", "report"} == {t.command for t in tools}
    assert [("check", "save")] == [(t.name, a.name) for t in tools for a in t.arguments if a.writes]
    with pytest.raises(Problem, match="`out`"):
        next(tool for tool in tools if tool.name == "report").build_call({"out": "/tmp"})
