"""The answer of a tool: the command's own document, and a bounded one where that is too long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpustarter.agents.answer_shape import LEAST_CHARACTERS, MOST_CHARACTERS, AnswerShape
from tpustarter.agents.tool_answer import make_answer
from tpustarter.cli.mcp import make_tools
from tpustarter.core.problem import Problem

WORDS = ["check", "--json", "--level=full", "--"]


def document(**fields: object) -> bytes:
    """Return the output of a command."""
    return json.dumps({"schema": "tpustarter.report/1", **fields, "exit_code": 0}).encode() + b"\n"


def test_document_is_passed_on_as_it_is() -> None:
    """A document is passed on unchanged, including its spaces and escapes."""
    output = document(text="\u00e9" * 9000)

    assert output.decode().strip() == make_answer(WORDS, output, "", 0).text


@pytest.mark.parametrize(
    "fields",
    [
        {"log": "x" * 1_000_000},
        {"results": [{"log": "x" * 900, "n": n} for n in range(500)]},
        {"results": [{"findings": [{"found": n} for n in range(100)]} for _ in range(100)]},
        {"deep": [[["x" * 5000] * 20] * 20]},
        {"log": "x" * 1_000_000, "left_out": [{"what": "a field of the document's own"}]},
    ],
)
def test_long_document_is_cut_and_says_so(fields: dict[str, Any]) -> None:
    """A shortened document is still JSON with the same fields, and names the full command."""
    answer = make_answer(WORDS, document(**fields), "", 0)
    short = json.loads(answer.text)

    assert len(answer.text) <= MOST_CHARACTERS
    assert {*fields, "schema", "exit_code", "shortened"} == {*short}
    assert fields.get("left_out") == short.get("left_out")
    assert "`tpustarter check --json --level=full`" in short["shortened"]
    assert not answer.is_error


RESULTS = [{"id": status, "status": status} for status in ("pass", "fail", "skip")]
TEXT = "# A\n\nintro\n\n## B c\n\n```sh\n# no heading\n```\n\n### D\n\nend\n\n## E\n"
LESSONS = [{"id": "x/y", "text": TEXT}]


@pytest.mark.parametrize(
    ("shape", "fields"),
    [
        (AnswerShape(problems=True), {"results": RESULTS[1:2], "lessons": LESSONS}),
        (AnswerShape(section="B c"), {"results": RESULTS, "lessons": [TEXT[12:-5]]}),
        (AnswerShape(section="## e"), {"results": RESULTS, "lessons": ["## E\n"]}),
    ],
)
def test_agent_can_ask_for_part(shape: AnswerShape, fields: dict[str, Any]) -> None:
    """An agent can request only problems or one section; a note says that there is more."""
    answer = make_answer(WORDS, document(results=RESULTS, lessons=LESSONS), "", 0, shape)
    part = json.loads(answer.text)
    texts = [one["text"] for one in part["lessons"]] if shape.section else part["lessons"]

    assert fields == {"results": part["results"], "lessons": texts}
    assert "left out" in part["shortened"]


def test_unknown_section_names_all() -> None:
    """An unknown section is an error that names all sections of the lesson."""
    shape = AnswerShape(section="Z")
    answer = make_answer(WORDS, document(lessons=LESSONS), "", 0, shape)

    assert answer.is_error
    assert "its sections are\n  A\n  B c\n  D\n  E" == json.loads(answer.text)["error"]["hint"]


@pytest.mark.parametrize("characters", [LEAST_CHARACTERS, 20_000])
def test_agent_sets_length_of_answer(characters: int) -> None:
    """The answer fits the length that the agent requests, and is still JSON."""
    shape = AnswerShape(characters=characters)
    answer = make_answer(WORDS, document(results=RESULTS * 9000, log="x" * 9000), "", 0, shape)

    assert not answer.is_error
    assert len(answer.text) <= characters
    assert json.loads(answer.text)["results"][0] == RESULTS[0]


@pytest.mark.parametrize(
    "output", [b"", b"Segmentation fault", b"[1]", b'{"a": 1} {', b"\xff\xfe", b"[" * 100_000]
)
def test_output_without_document_is_error(output: bytes) -> None:
    """Output without a document is an error of the command's schema, with the end of stderr."""
    answer = make_answer(WORDS, output, "error: out of luck", 70)
    short = json.loads(answer.text)

    assert answer.is_error
    assert "tpustarter.report/1" == short["schema"]
    assert short["error"]["what"].endswith("error: out of luck")


def test_document_too_wide_to_cut_is_error() -> None:
    """A document that can't be shortened, such as one with 10,000 fields, is an error."""
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
        ("lesson", {"lesson": "a/b", "section": "C", "characters": 2000}, ["learn", "--", "a/b"]),
        ("check", {"problems": True}, ["check", "--"]),
        ("report", {"for": "jax", "no_ask": True}, ["report", "--for=jax", "--no-ask", "--"]),
    ],
)
def test_arguments_become_options(name: str, values: dict[str, object], words: list[str]) -> None:
    """Arguments become options, and a value is never read as an option."""
    tool = next(tool for tool in make_tools() if tool.name == name)
    first, *rest = words

    assert ([first, "--json", *rest], b"") == tool.build_call(values)


WRITES = {"junit", "save", "plot", "notebook", "code", "force", "yes", "out", "fix", "all_hosts"}
"""Options of commands that write or start elsewhere; only `check` has one, behind --allow."""


def test_no_tool_has_option_that_writes() -> None:
    """No tool has an option that writes files or leads to a purchase, as `tpu` or `setup` would."""
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
