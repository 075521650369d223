"""Texts of the compiler that are cut, shuffled or forged: no traceback, no wrong claim, no wait."""

from __future__ import annotations

import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.places import TESTS
from tpustarter.machine import tpus
from tpustarter.probe.rehearse import collectives, hlo
from tpustarter.probe.rehearse import rehearsal as probe
from tpustarter.rehearsal.compile import memory_report
from tpustarter.rehearsal.text import rehearsal_text

SAMPLES = {path.stem: path.read_text() for path in sorted((TESTS / "samples/hlo").glob("*.txt"))}
REPORT = (TESTS / "samples/memory_report.txt").read_text()
WHOLE = SAMPLES.keys() - {"collectives", "train_step"}
"""These were cut to what their tests need: computations that they name are not in them."""
LONGEST_S = 2.0
"""Processor time for one text of some kilobytes; most take a thousandth of it."""

PIECES = st.sampled_from(
    [
        "HloModule m, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n",
        "\nENTRY %e (x: f32[8]) {\n",
        "\n}\n",
        "  %a = f32[8]{0:T(128)} parameter(0)\n",
        "  ROOT %b = f32[8]{0} add(%a, %a)\n",
        "  %w = f32[9]{0} while(%a), condition=%c, body=%b",
        ", calls=%f",
        "\n%f (x: s4[3]) {\n",
        "  %f = (f32[2], bf16[9,9]{1,0:T(8,128)(2,1)}) fusion(%a)",
        'FileNames\n1 "a.py"\n',
        "  %d = f32[2]{0} dot(%a, %b), operand_precision={highest,nonsense}\n",
        ', metadata={op_name="',
        '  %k = f32[2] custom-call(%a), custom_call_target="tpu_custom_call", metadata={}\n',
        "f32[",
        "  %r = f32[4] all-reduce-done(%r), channel_id=1\n",
        "  %t = pred[] compare(%i, %w), direction=LT\n",
        "  %i = s32[] get-tuple-element(%w), index=",
        "  %c = s32[] constant(",
        *(
            f"  %{letter} = s32[] add(%{next_}, %{next_})\n"
            for letter, next_ in pairwise("iabcdfr")
        ),
        "9" * 5000,
        "{",
        "}",
        "(",
        ")",
        '"',
        "%",
        "=",
        "-1",
        "99999999999999999999",
        "\x00",
        "\u0663",
        "<=",
        "S(1)",
        "T(0)",
        "E(1)",
        ",",
        " ",
        "\n",
    ]
)
SOUP = st.lists(PIECES | st.text(max_size=5), max_size=60).map("".join)


def read(text: str) -> hlo.HloProgram:
    """Parse a text, and fail if it takes too much CPU time; other load doesn't count."""
    began = time.thread_time()
    program = hlo.parse_program(text)
    assert time.thread_time() - began < LONGEST_S
    return program


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_whole_text_is_known_as_one(name: str) -> None:
    """A whole text of a real compiler counts as complete, with or without its final newline."""
    text = SAMPLES[name]

    assert read(text).complete
    assert read(text) == read(text.rstrip())


@pytest.mark.parametrize("name", SAMPLES)
def test_truncated_text_never_passes_for_whole(name: str) -> None:
    """A truncated text never counts as complete, and nothing is concluded from its gaps."""
    text = SAMPLES[name]
    ends = {0, *(at for at, sign in enumerate(text) if sign in "\n})"), *range(0, len(text), 41)}
    wrong = [end for end in sorted(ends) if end < len(text.rstrip()) and read(text[:end]).complete]

    assert [] == wrong
    seconds, why = probe._model_seconds({"optimal_seconds": 1.0}, read(text[: len(text) // 2]), 1)
    assert (None, probe.ENDS_EARLY) == (seconds, why)


@settings(deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_a_text_without_its_head_is_incomplete(name: str, data: st.DataObject) -> None:
    """A log may have lost its beginning."""
    text = SAMPLES[name]

    assert not read(text[data.draw(st.integers(1, len(text))) :]).complete


DIGITS = "9" * 5000
CHAIN = "".join(f"  %v{n} = s32[] add(%v{n - 1}, %v{n - 1})\n" for n in range(1, 60))
NESTED = "".join(
    f"%f{n} (p: s32[]) {{\n  %p = s32[] parameter(0)\n"
    f"  %a = s32[] fusion(%p), calls=%f{n - 1}\n  ROOT %b = s32[] add(%a, %a)\n}}\n\n"
    for n in range(1, 60)
)
CALLS = "".join(
    f"%f{n} (p: f32[]) {{\n  %p = f32[] parameter(0)\n  %a = f32[] call(%p), to_apply=%f{n - 1}\n"
    f"  %b = f32[] call(%a), to_apply=%f{n - 1}\n}}\n\n"
    for n in range(1, 200)
)
LOOP = """HloModule m

%f0 (p: s32[]) {{
  %p = s32[] parameter(0)
  ROOT %r = f32[{dims}] reduce-scatter(%p), replica_groups={groups}
}}

{more}%body (p: (s32[])) {{
  %p = (s32[]) parameter(0)
  %v0 = s32[] get-tuple-element(%p), index={index}
{lines}  ROOT %out = (s32[]) tuple({last})
}}

%condition (p: (s32[])) {{
  %p = (s32[]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %end = s32[] constant(9)
  ROOT %test = pred[] compare(%i, %end), direction=LT
}}

ENTRY %e (x: s32[]) {{
  %zero = s32[] constant(0)
  %in = (s32[]) tuple(%zero)
  %w = (s32[]) while(%in), condition=%condition, body=%body
  ROOT %y = f32[] fusion(%w), calls={called}
}}
"""
PLAIN = {
    "dims": "8",
    "groups": "{{0,1}}",
    "more": "",
    "index": 0,
    "lines": "",
    "last": "%v0",
    "called": "%f0",
}
HOSTILE: dict[str, dict[str, Any]] = {
    "an element of 5,000 digits": {"index": DIGITS},
    "a parameter of 5,000 digits": {
        "more": f"%f1 (p: s32[]) {{\n  ROOT %p = s32[] parameter({DIGITS})\n}}\n\n",
        "lines": "  %s = s32[] fusion(%v0), calls=%f1\n",
        "last": "%s",
    },
    "sizes beyond a float": {"dims": ",".join(["9" * 38] * 30)},
    "groups beyond a float": {
        "groups": "mesh[" + "'x'=" + "9" * 38 + "] {" + ",".join(["'x'"] * 30) + "}"
    },
    "sums of sums": {"lines": CHAIN, "last": "%v30"},
    "sums within sums": {
        "more": NESTED,
        "lines": "  %s = s32[] fusion(%v0), calls=%f30\n",
        "last": "%s",
    },
    "calls of calls": {"more": CALLS, "called": "%f199"},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_figures_without_limit_are_unknown(case: str) -> None:
    """Numbers that Python refuses to read or to divide, and work that doubles with each line."""
    text = LOOP.format(**PLAIN | HOSTILE[case])
    read(text)

    for one in collectives.list_collectives(text):
        assert 0 <= one.bytes < 2**63
        assert (one.received_bytes or 0) < 2**127
        assert (one.runs or 0) < 2**63


def executable(text: str) -> Any:
    """Return a stand-in for a compiled program with such a text."""
    names = ("argument", "output", "alias", "temp", "generated_code")
    stats = SimpleNamespace(**{f"{name}_size_in_bytes": 1 for name in names})
    return SimpleNamespace(
        get_compiled_memory_stats=lambda: stats,
        hlo_modules=lambda: [SimpleNamespace(to_string=lambda: text)],
        cost_analysis=lambda: {"optimal_seconds": 1.0, "flops": 1e9, "bytes accessed": 1e9},
    )


LOWERED: Any = SimpleNamespace(devices=1, written_shares={"0": 0.5, "7": 0.1}, donating=None)
"""Stands for a lowered program whose results are no more than the text names."""


def render(**fields: Any) -> str:
    """Return the report about one program."""
    topology = tpus.find_topology("v5e-8")
    result: dict[str, Any] = {
        "program": "step",
        "check": None,
        "tpu": "v5e-8",
        "topology": "v5e:2x4",
        "reason": None,
        "detail": "",
        "seconds": 0.1,
        "cached": False,
        "hbm_limit_bytes": 2**34,
        "devices": 1,
    }
    rehearsal: Any = SimpleNamespace(
        topologies=[topology],
        results=[result | fields],
        skipped=[],
        functions=[],
        asked=(),
        script_error=None,
        script_missing="",
        script_python=None,
        runs_script=False,
        compares=False,
        fits=(),
        stopped_by=None,
    )
    return rehearsal_text.render_rehearsal(rehearsal, verbose=True)


@settings(deadline=None, max_examples=300)
@given(SOUP)
def test_any_text_gives_report(text: str) -> None:
    """Parts of real texts in any order break neither the reader nor the report."""
    program = read(text)
    facts = probe._facts(executable(text), LOWERED)
    report = render(status="compiles", **facts)

    assert all(value.unpadded_bytes >= 0 <= value.laid_out_bytes for value in program.values)
    assert program.complete or facts["compiler_model_seconds"] is None
    assert program.complete or probe.ENDS_EARLY in " ".join(report.split())
    assert report.replace("\n", "").isprintable()


FIGURES = st.sampled_from(
    ["1.5G", "1.2.3G", "...G", "9" * 400 + "G", "0B", "-1K", "1.G", "\u0663G", "G"]
)
PHRASES = st.sampled_from(
    [
        "Used {} of {} hbm. Exceeded hbm capacity by {}.",
        "\n  program  {}",
        "\n  arguments {}",
        "\n==========\n  1. Size: {}\n     Shape: f32[8]{{0}}\n     Unpadded size: {}\n",
        "\n     XLA label: x",
        "RESOURCE_EXHAUSTED: ({}) exceeds available HBM ({})",
        "\nOutput size {}; shares {}",
        "\n",
    ]
)
WORDS = st.builds(str.format, PHRASES, FIGURES, FIGURES, FIGURES)


@settings(deadline=None, max_examples=300)
@given(st.lists(WORDS | st.text(max_size=9), max_size=12).map("".join))
def test_any_compiler_memory_figures_are_read(text: str) -> None:
    """Figures that are none are no figures, and no array of no bytes breaks the report."""
    memory, fields = probe._memory(text), memory_report.parse_memory_report(text)

    assert all(value >= 0 for value in memory.values())
    render(status="does-not-fit", **({"hbm_bytes": 1} | memory | fields))


@settings(deadline=None)
@given(st.integers(0, len(REPORT)), st.integers(0, len(REPORT)))
def test_a_report_that_is_cut_is_read(start: int, end: int) -> None:
    """A part of a real report has the same figures as the whole, or none."""
    whole, part = (
        memory_report.parse_memory_report(REPORT),
        memory_report.parse_memory_report(REPORT[min(start, end) : max(start, end)]),
    )

    assert part.get("hbm_bytes") in (None, whole["hbm_bytes"])
    assert part.get("excess_bytes") in (None, whole["excess_bytes"])
