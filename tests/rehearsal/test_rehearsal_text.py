"""The arguments that a rehearsal reads, and its report as plain text."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.places import TESTS
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus
from tpustarter.rehearsal import roofline_bound
from tpustarter.rehearsal.programs import user_program
from tpustarter.rehearsal.programs.user_program import JitCallSiteSummary
from tpustarter.rehearsal.text import model_estimate, rehearsal_headline, rehearsal_text
from tpustarter.text.terminal import WIDTH

GOLDEN = TESTS / "golden"
GIB = 2**30
SEVEN = ("v2-8", "v3-8", "v4-8", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8")

# what is typed: type and shape
TYPED = {
    "f32[8192,8192]": ("float32", (8192, 8192)),
    "bf16[]": ("bfloat16", ()),
    " s8[ 4 , 5 ] ": ("int8", (4, 5)),
    "i32[0]": ("int32", (0,)),
    "float64[3]": ("float64", (3,)),
    "pred[1]": ("bool", (1,)),
    "u4[2147483647]": ("uint4", (2147483647,)),
    "f8e4m3fn[1,2,3,4,5,6,7,8]": ("float8_e4m3fn", (1, 2, 3, 4, 5, 6, 7, 8)),
}

# what is typed: words the refusal must have
REFUSED = {
    "f32": "cannot be read, expected an array as `f32[8192,8192]`",
    "f32[8": "cannot be read",
    "f32[8]]": "cannot be read",
    "f32[-1]": "cannot be read",
    "f32[8.0]": "cannot be read",
    "f32[a]": "the dimension `a` has no size",
    "[8]": "cannot be read",
    "": "`--arg ` cannot be read",
    "f32[8,]": "the shape cannot be read",
    "f32[8 8]": "the shape cannot be read",
    "f32[2147483648]": "the shape cannot be read",
    "f32[" + "9" * 5000 + "]": "the shape cannot be read",
    "fp32[8]": "found the type `fp32`, expected one of f32, bf16",
    "F32[8]": "found the type `F32`",
    "init(u32[-2])": "cannot be read",
    "init(u33[2])": "cannot be read",
    "init(u32[2]": "cannot be read",
    "init(lambda: 1)": "cannot be read",
    "init(**options)": "cannot be read",
    "init()[0]": "cannot be read",
    "8,8": "cannot be read",
    "{}": "cannot be read",
    "x.y()()": "cannot be read",
    "a b": "cannot be read",
}


@pytest.mark.parametrize("typed", TYPED)
def test_argument_is_parsed_as_type_and_shape(typed: str) -> None:
    """Short names as HLO writes them and NumPy's are types, blanks do not matter."""
    assert TYPED[typed] == user_program.parse_argument(typed)


WRITTEN = (
    "init(u32[2])",
    "optimizer.init(init(u32[2], f32[], layers=[8, 8]), 'a', None)",
    "CONFIG",
    "config.width",
    "*batch()",
    "n=4",
    "x=bf16[8]",
    "-1",
    "(8, 8)",
)


@pytest.mark.parametrize("typed", WRITTEN)
def test_value_of_file_is_kept_as_text(typed: str) -> None:
    """The process of the file makes it, which is the only one that may run the file."""
    assert typed == user_program.parse_argument(f" {typed} ")


@pytest.mark.parametrize("typed", REFUSED)
def test_invalid_argument_is_refused(typed: str) -> None:
    """An argument that can't be read is refused with found and expected, in a bounded message."""
    with pytest.raises(Problem) as problem:
        user_program.parse_argument(typed)

    assert REFUSED[typed] in problem.value.full_text
    assert len(problem.value.full_text) < 400
    assert ExitCode.USAGE == problem.value.code


def test_misspelt_type_is_suggested() -> None:
    """A misspelt type names the nearest ones."""
    with pytest.raises(Problem) as problem:
        user_program.parse_argument("bfloat[8]")

    assert "`bfloat16`" in (problem.value.hint or "")


SHAPES = st.lists(st.integers(0, 2**31 - 1), max_size=8)


@settings(deadline=None)
@given(st.sampled_from(sorted(user_program.TYPES)), SHAPES)
def test_every_printed_type_and_shape_is_parsed(kind: str, shape: list[int]) -> None:
    """Whatever XLA can hold comes back as it was written."""
    text = f"{kind}[{','.join(map(str, shape))}]"

    assert (user_program.TYPES[kind], tuple(shape)) == user_program.parse_argument(text)


@settings(deadline=None)
@given(st.text() | st.builds("{}[{}]".format, st.text(max_size=6), st.text("0123456789, -٣²")))
def test_any_argument_is_parsed_or_problem(text: str) -> None:
    """Whatever is typed is an array, the text of a value, or one Problem."""
    try:
        argument = user_program.parse_argument(text)
    except Problem:
        return

    if isinstance(argument, str):
        assert text.strip() == argument
        return
    kind, shape = argument
    assert kind in user_program.TYPES.values()
    assert all(0 <= size < 2**31 for size in shape)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nofile.py:step", "there is no file `nofile.py`"),
        (f"{__file__}:not a name", "`not a name` is not the name of a function"),
        (f"{__file__}:os.path", "`os.path` is not the name of a function"),
    ],
)
def test_invalid_file_and_function_are_refused(text: str, said: str) -> None:
    """Both are looked at before anything is started."""
    with pytest.raises(Problem) as problem:
        user_program.parse_function(text, ())

    assert said in problem.value.full_text
    assert ExitCode.USAGE == problem.value.code


def test_a_file_alone_names_its_entry_point() -> None:
    """`FILE.py` is its function `programs`, and `FILE.py:step` is `step`."""
    alone, step = (
        user_program.parse_function(__file__, ()),
        user_program.parse_function(f"{__file__}:step", ("f32[2]",)),
    )

    assert ("programs", "step") == (alone.function, step.function)
    assert "test_rehearsal_text.py:step" == step.name
    assert [True, True, False, False] == [
        user_program.names_python_code(text)
        for text in ("a.py", "b/a.py:f", "jax.every_device", "jax.*")
    ]


MEMORY = {"arguments": 8 * GIB, "outputs": 4 * GIB, "aliased": 0, "temporaries": 6 * GIB, "code": 0}


def buffer(shape: str, asked: int, laid_out: int, **more: str) -> dict[str, Any]:
    """Return one array of a result."""
    fields = {
        "name": "x.1",
        "kind": "temporary",
        "layout": "{1,0:T(8,128)}",
        "op": "",
        "source": "",
    }
    return {**fields, "shape": shape, "asked_bytes": asked, "laid_out_bytes": laid_out, **more}


def made(program: str, tpu: str, status: str = "compiles", **more: Any) -> dict[str, Any]:
    """Return a result in the engine's form."""
    known = tpus.find_topology(tpu)
    fields: dict[str, Any] = {
        "program": program,
        "check": None,
        "tpu": tpu,
        "topology": known.topology_name,
        "status": status,
        "reason": None,
        "detail": "",
        "seconds": 1.25,
        "cached": False,
        "hbm_limit_bytes": int(known.hbm_gib_per_device * GIB),
    }
    if status == "compiles":
        fields |= {
            "devices": 1,
            "hbm_bytes": 12 * GIB + 2**20,
            "memory": {**MEMORY, "temporaries": 2**20},
            "padding": {"asked_bytes": GIB, "laid_out_bytes": GIB},
            "buffers": [],
            "collectives": [],
            "dots": [],
            "loops": 0,
            "kernels": [],
            "flops": 1e9,
            "bytes_accessed": 1e9,
            "compiler_model_seconds": None,
            "compiler_model_reason": "it counts the body of a loop once",
        }
    return fields | more


TOO_BIG = {
    "hbm_bytes": 18 * GIB,
    "excess_bytes": int(2.25 * GIB),
    "memory": MEMORY,
    "reason": "E1000: CompileTimeHbmOom: needs 18.00G",
    "detail": "E1000: the whole text",
    "buffers": [
        buffer("f32[32768,32768]", 4 * GIB, 4 * GIB, kind="argument", source="/a/b/train.py:12"),
        buffer("bf16[32768,32768]", 2 * GIB, 2 * GIB, op="jit(step)/transpose(jvp())/dot_general"),
    ],
}
ONCE = {"runs": 1, "group_size": 8, "link": "dcn", "received_bytes": 1024}
RICH = {
    "devices": 8,
    "buffers": [buffer("f64[8000000,3]", 96 * 10**6, 4 * GIB), buffer("f32[8]", 32, 4096)],
    "collectives": [
        {
            "op": "all-gather",
            "count": 3,
            "bytes": 2**26,
            "op_name": "jit(step)/dot_general",
            "source": "/a/b/train.py:20",
            "runs": 18,
            "group_size": 8,
            "link": "ici",
            "received_bytes": 2**26,
        },
        {"op": "all-reduce", "count": 1, "bytes": 512, "op_name": "", "source": ""} | ONCE,
    ],
    "dots": [
        {"left": "f32", "right": "f32", "out": "f32", "precision": "highest", "count": 2},
        {"left": "bf16", "right": "bf16", "out": "f32", "precision": "default", "count": 12},
    ],
}
WORK = {
    "matrix": [{"left": "bf16", "right": "bf16", "passes": 1, "flops": 4e9, "least_flops": 2e9}],
    "read_bytes": 2e7,
}
PRODUCT = {"out": "f32", "precision": "default", "count": 1}
HOSTILE = "\x1b[31mstep[bold]\r\n\x9b0m"

REPORTS: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = {
    "one-program": (
        ("v5e-8", "v6e-8"),
        [
            made("step", "v5e-8", "does-not-fit", **TOO_BIG),
            made("step", "v6e-8", **RICH),
        ],
    ),
    "refused-and-error": (
        ("v6e-8",),
        [
            made(
                "eig",
                "v6e-8",
                "refused",
                reason="MLIR translation rule for primitive 'eig' not found for platform tpu",
                detail="line one\nline \x1b[31mtwo",
            ),
            made(
                "crash", "v6e-8", "error", reason="the compiler crashed: Check failed: tiles == 8"
            ),
            made("fine", "v6e-8", cached=True),
        ],
    ),
    "checks-for-seven": (
        SEVEN,
        [made("exchange", tpu, check="jax.every_device") for tpu in SEVEN[:-1]]
        + [made("exchange", "tpu7x-8", "error", check="jax.every_device", reason="it was killed")],
    ),
    "ten-tpus": (
        (*SEVEN, "v5p-128", "v6e-256", "v4-32"),
        [
            made(
                name,
                tpu,
                "does-not-fit" if name == "big" else "compiles",
                check="jax.matmul_precision",
                **(TOO_BIG if name == "big" else {}),
            )
            for name in ("big", "a program with a name that is longer than its column")
            for tpu in (*SEVEN, "v5p-128", "v6e-256")
        ],
    ),
    "hostile": (
        ("v5e-8", "v6e-8"),
        [
            made(HOSTILE, "v5e-8", "error", reason=HOSTILE),
            made(HOSTILE, "v6e-8"),
        ],
    ),
    "model": (
        ("v5e-8", "v6e-8"),
        [
            made(
                "step",
                tpu,
                compiler_model_seconds=seconds,
                compiler_model_reason=None,
                flops=2**40,
                bytes_accessed=4e8,
                dots=[{**PRODUCT, "left": "bf16", "right": "bf16"}],
            )
            for tpu, seconds in (("v5e-8", 5.58e-3), ("v6e-8", 1.2e-3))
        ],
    ),
    "bounds": (
        ("v5e-8", "v6e-8"),
        [
            roofline_bound.add_bound(made("step", tpu, work=WORK, written_bytes=0, flops=None))
            for tpu in ("v5e-8", "v6e-8")
        ],
    ),
    "nothing": (("v5e-8",), []),
    "stopped": (("v5e-8", "v6e-8"), [made("step", "v5e-8")]),
    "stopped-checks": (
        ("v5e-8", "v6e-8"),
        [
            made("default", "v5e-8", check="jax.matmul_precision"),
            made("highest", "v5e-8", check="jax.matmul_precision"),
            made("reduce_all", "v5e-8", "refused", check="jax.all_reduce", reason="no such link"),
        ],
    ),
}
FUNCTIONS = [
    JitCallSiteSummary("step", "train.py:12", 10, 10, 10, "f32[4,4], then f32[5,5]"),
    JitCallSiteSummary("evaluate", "train.py:30", 100, 1, 2, "f32[4], then f32[8]"),
    JitCallSiteSummary(
        "a_function_with_a_name_longer_than_its_column", "deep/below/some/x.py:1", 1, 1, 1, ""
    ),
]


def report(name: str, *, verbose: bool = False) -> str:
    """Return one of the reports as text."""
    tpu_names, results = REPORTS[name]
    rehearsal: Any = SimpleNamespace(
        topologies=[tpus.find_topology(tpu) for tpu in tpu_names],
        results=results,
        runs_script=name in ("one-program", "nothing"),
        script_python="~/tpu/bin/python",
        device_query_places=("train.py:3", "train.py:9") if name == "one-program" else (),
        fits=[],
        compares=False,
        skipped=[
            {
                "name": "jax.every_device",
                "tpu": "v5e-1",
                "reason": "it needs 2 devices, and v5e-1 has 1",
            }
        ]
        if name == "ten-tpus"
        else [],
        functions=FUNCTIONS if name == "one-program" else [],
        script_error="train.py:40: ValueError: no more data" if name == "one-program" else None,
        script_ended_early=False,
        returns_zeros=False,
        script_missing="",
        stopped_by=2 if name.startswith("stopped") else None,
        progress=SimpleNamespace(total=6),
    )
    return rehearsal_text.render_rehearsal(rehearsal, verbose=verbose)


@pytest.mark.parametrize("name", REPORTS)
def test_report_matches_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    """The report on made results is the golden one, to the letter."""
    text = report(name, verbose=name in ("model", "one-program")) + "\n"
    golden = GOLDEN / f"rehearsal-{name}.txt"
    if request.config.getoption("--golden"):
        golden.write_text(text)

    assert golden.read_text() == text


def product(left: str, right: str) -> dict[str, Any]:
    """Return a product of two types."""
    return {**PRODUCT, "left": left, "right": right}


# 8192-cubed products as libtpu 0.0.50.1 prices them, and what moves 2 GiB and little else:
# TPU, milliseconds, FLOPs, bytes, types of a product, what is said of the rate
MODEL = [
    ("v5e-8", 5.58, 2**40, 4e8, "bf16 bf16", "197 TFLOP/s (documented peak 197)"),
    ("v2-8", 48.2, 2**40, 4e8, "f32 f32", "22.81 TFLOP/s (documented peak 23)"),
    ("v6e-8", 0.6, 2**40, 4e8, "s8 s8", "1833 TOP/s (documented peak 1836 to 1840)"),
    (
        "tpu7x-8",
        0.25,
        2**39,
        4e8,
        "f8e4m3fn f8e4m3fn",
        "2199 TFLOP/s (documented peak 2300 to 2307)",
    ),
    ("v5p-8", 1, 1e9, 2**31, "", "2147 GB/s of memory traffic (documented peak 2460 to 2765)"),
    (
        "tpu7x-8",
        1,
        1e9,
        2**31,
        "bf16 bf16",
        "2147 GB/s of memory traffic (documented peak 3690 to 3700)",
    ),
    ("v4-8", 1, 2**37, 4e8, "bf16 s8", "137.4 TFLOP/s (no peak is known)"),
    (
        "v4-8",
        1,
        2**37,
        1e9,
        "bf16 s8",
        "1000 GB/s of memory traffic (documented peak 1200 to 1230)",
    ),
    ("v5e-8", 11.5, 2**41, 6.7e8, "f8e5m2 f8e5m2", "191.2 TFLOP/s (no peak is known)"),
]


@pytest.mark.parametrize("row", MODEL, ids=lambda row: f"{row[0]} {row[4]}")
def test_model_figure_stands_beside_documented_peak(row: tuple[Any, ...]) -> None:
    """Whichever is nearer to its peak, products or memory: of one device, all sources printed."""
    tpu, ms, flops, moved, types, rate = row
    one = made(
        "step",
        tpu,
        compiler_model_seconds=ms / 1e3,
        compiler_model_reason=None,
        flops=flops,
        bytes_accessed=moved,
        dots=[product(*types.split())] if types else [],
    )
    told = f"estimates {ms} ms for a run, not measured on a TPU; that would be {rate}"

    assert told == model_estimate.format_model_estimate(one)
    assert [f"model   {told}"] == [
        str(note) for note in rehearsal_text.list_notes(one, verbose=True) if note.label == "model"
    ]


def test_estimate_without_model_figure_stands_alone() -> None:
    """A program of which the compiler counts nothing, and one that its model does not fit."""
    one = made(
        "step",
        "v5e-8",
        compiler_model_seconds=1e-3,
        bytes_accessed=None,
        flops=None,
        dots=[product("u8", "u8")],
    )

    assert (
        "estimates 1 ms for a run, not measured on a TPU"
        == model_estimate.format_model_estimate(one)
    )
    why = "gives no estimate, because it counts the body of a loop once"
    assert why == model_estimate.format_model_estimate(made("s", "v5e-8"))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_text_in_80_columns(name: str, verbose: bool) -> None:
    """A report fits 80 columns and spells out control characters."""
    text = report(name, verbose=verbose)

    assert [] == [line for line in text.splitlines() if len(line) > WIDTH or line.endswith(" ")]
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_says_no_tpu_was_tested(name: str) -> None:
    """Every report says that no TPU was tested."""
    said = " ".join(report(name).split())

    assert said.endswith(
        "Nothing was compiled." if name == "nothing" else "a rehearsal, no TPU was tested."
    )


def test_programs_of_same_name_show_worst_answer() -> None:
    """Two functions of a script may have one name and shape: the table hides no failure."""
    twice = [made("step(f32[8])", "v5e-8", "refused", reason="no"), made("step(f32[8])", "v5e-8")]
    found = {
        rehearsal_text.format_table(results, ["v5e-8"])[1].split()[-1]
        for results in (twice, twice[::-1])
    }

    assert {"refused"} == found


def test_collectives_that_are_not_listed_are_counted() -> None:
    """Collectives that aren't listed are counted, and -v lists them all."""
    kinds = [
        {"op": "all-reduce", "count": 2, "bytes": 2**size, "op_name": "", "source": ""} | ONCE
        for size in range(20, 11, -1)
    ]
    one = made("step", "v5e-8", collectives=kinds)
    texts, all_texts = (
        [
            str(note)
            for note in rehearsal_text.list_notes(one, verbose=verbose)
            if "between" in note.label
        ]
        for verbose in (False, True)
    )

    assert rehearsal_text.MOST_NOTES + 1 == len(texts)
    assert texts[-1].startswith("between devices  6 more")
    assert ["2 x all-reduce"] * 9 == [line[17:31] for line in all_texts]


@settings(deadline=None)
@given(st.text(max_size=60), st.integers(0, 2**50), st.integers(0, 2**50), st.floats(0, 1e5))
def test_no_line_of_a_result_is_too_long(name: str, used: int, limit: int, seconds: float) -> None:
    """Whatever a program is called and however large it is, its line has 80 columns."""
    one = made("p", "v5e-8", hbm_bytes=used, hbm_limit_bytes=limit, seconds=seconds)
    one["program"] = " ".join(name[at : at + 20] for at in range(0, len(name), 20))
    rehearsal: Any = SimpleNamespace(
        topologies=[tpus.find_topology("v5e-8")],
        results=[one],
        fits=[],
        compares=False,
        skipped=[],
        functions=[],
        script_error=None,
        script_ended_early=False,
        returns_zeros=False,
        script_missing="",
        runs_script=False,
        stopped_by=None,
    )
    lines = rehearsal_text.render_rehearsal(rehearsal).splitlines()

    assert [] == [line for line in lines if len(line) > WIDTH + 60 * ("\\" in line)]


@pytest.mark.parametrize("name", ["one-program", "model"])
def test_no_report_line_reads_like_tpu_time(name: str) -> None:
    """A rehearsal runs nothing: seconds belong to the compiler, and an estimate says what it is."""
    text = " ".join(report(name, verbose=True).split())
    rest = re.sub(r"compiled in [\d.]+ s", "", text)
    rest = re.sub(
        r"model estimates [\d.]+ ms for a run, not measured on a TPU; that would be "
        r"[\d.]+ \w+/s \(documented peak [^)]*\)",
        "",
        rest,
    )

    assert [] == re.findall(r"[\d.]+ (?:ms|s|\w+/s)\b|\btime\b", rest)


def test_last_sentence_names_few_tpus_and_counts_others() -> None:
    """The table above it has every name."""
    names = ["v2-8", "v3-8", "v4-8", "v5e-8", "v6e-8"]
    results = [
        {
            "program": "step",
            "check": None,
            "tpu": name,
            "status": "compiles",
            "devices": 1,
            "hbm_bytes": GIB,
            "hbm_limit_bytes": 7 * GIB,
        }
        for name in names
    ]
    told = [rehearsal_headline.format_headline(results[:count], own=True) for count in (1, 3, 5)]

    assert "one device of v2-8 holds it" in told[0]
    assert "one device of v2-8, v3-8 or v4-8 holds it" in told[1]
    assert "one device of each of 5 TPUs holds it" in told[2]


@pytest.mark.parametrize(
    ("needed", "said"), [(15, "one device of v5e-8 holds it"), (19, "so don't rely on it")]
)
def test_program_over_memory_is_not_said_to_fit(needed: int, said: str) -> None:
    """A program over the memory limit isn't said to fit, even if the compiler accepts it."""
    result = {
        "program": "step",
        "check": None,
        "tpu": "v5e-8",
        "status": "compiles",
        "devices": 1,
        "cached": True,
        "hbm_bytes": needed * GIB,
        "hbm_limit_bytes": 16 * GIB,
    }
    told = rehearsal_headline.format_headline([result], own=True)

    assert said in told
    assert ("holds it" in told) == (needed < 16)
    assert ("which is too much" in rehearsal_text.summarize_answer(result)) == (needed > 16)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([4 * GIB, GIB / 4, 1000, 0], ["4.00 GiB", "0.25 GiB", "<0.01 GiB", "0.00 GiB"]),
        ([256 * 2**20, 2**20, 1000], ["256 MiB", "1 MiB", "<1 MiB"]),
        ([700, 4], ["700 B", "4 B"]),
        ([], []),
    ],
)
def test_sizes_beside_each_other_have_one_unit(counts: list[float], said: list[str]) -> None:
    """Sizes in one list have one unit with aligned points, and a small one isn't shown as 0."""
    assert said == rehearsal_text.format_sizes(counts)
