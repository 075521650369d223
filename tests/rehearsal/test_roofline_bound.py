"""The lower bound on a run: peaks by type, the part that limits, MFU, and the roofline."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.rehearsal.test_rehearsal_text import made
from tests.support.places import TESTS
from tpustarter.machine.generations import GENERATIONS
from tpustarter.probe.rehearse import hlo
from tpustarter.probe.rehearse.rehearsal import count_written_bytes
from tpustarter.rehearsal import roofline_bound
from tpustarter.rehearsal.text import bound_text, roofline, roofline_svg

MATRIX = {"left": "bf16", "right": "bf16", "passes": 1, "flops": 1.97e12, "least_flops": 1.97e12}
WORK = {"devices": 1, "matrix": [MATRIX], "read_bytes": 4.295e8}
GUIDE = re.compile(r"M([\d.]+) ([\d.]+)V")


def bounded(tpu: str = "v5e-8", measured_s: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a result with its bound."""
    fields = {"work": WORK, "written_bytes": 0.0, "flops": None, **more}
    result = roofline_bound.add_bound(made("step", tpu, **fields))
    return (
        roofline_bound.add_measured_utilization([result], measured_s)[0] if measured_s else result
    )


def matrix(left: str, right: str = "", passes: int = 1) -> dict[str, Any]:
    """Return the work of one TFLOP on one device."""
    types = {"left": left, "right": right or left, "passes": passes}
    return {"matrix": [MATRIX | types | {"flops": 1e12, "least_flops": 1e12}]}


def exchange(
    op: str, received: float | None, group: int | None = 8, link: str = "ici"
) -> dict[str, Any]:
    """Return a collective with the bytes that a device receives."""
    origin = {"op_name": "", "source": ""}
    sizes = {"bytes": 1, "received_bytes": received, "group_size": group}
    return {"op": op, "count": 1, "runs": 1, "link": link, **sizes, **origin}


PEAKS = [
    # TPU, types, passes, TFLOP/s or TOP/s of one device
    ("v5e-8", "bf16", "bf16", 1, 197),
    ("v5e-8", "f32", "f32", 6, 197 / 6),
    ("v5e-8", "s8", "s8", 1, 394),
    ("v5e-8", "s8", "bf16", 1, 394),
    ("v5e-8", "f8e4m3fn", "f8e4m3fn", 1, 197),
    ("v6e-8", "bf16", "bf16", 1, 920),
    ("v2-8", "s8", "s8", 1, 23),
    ("tpu7x-8", "f8e5m2", "f8e5m2", 1, 2307),
    ("tpu7x-8", "s4", "s4", 1, 2307),
    ("2xv5e-8", "bf16", "bf16", 1, 197),
    ("v5p:4x4x16", "bf16", "bf16", 1, 459),
]


@pytest.mark.parametrize(("tpu", "left", "right", "passes", "peak"), PEAKS)
def test_matrix_units_are_bound_by_highest_peak(
    tpu: str, left: str, right: str, passes: int, peak: float
) -> None:
    """Of two sources, and of two types, the faster one counts; two devices share some chips."""
    result = bounded(tpu, work=matrix(left, right, passes))

    assert pytest.approx(1 / peak) == result["bound"]["seconds"]
    assert "matrix unit" == result["bound"]["limiter"]


def test_slowest_part_is_the_limiter() -> None:
    """Each part is listed with its peak, and the peak with its source."""
    collectives = [exchange("all-gather", 4e9)]
    bound = bounded(written_bytes=4.295e8, collectives=collectives)["bound"]
    seconds = {one["name"]: one["seconds"] for one in bound["limits"]}

    assert pytest.approx({"matrix unit": 10e-3, "HBM": 1e-3, "links": 20e-3}) == seconds
    assert ("links", 20e-3) == (bound["limiter"], pytest.approx(bound["seconds"]))
    assert all(peak["source"] for one in bound["limits"] for peak in one["peaks"])


COLLECTIVES = [
    # kind, TPU, group, link; bytes of the links for each that a device receives
    ("all-gather", "v5e-8", 8, "ici", 1.0),
    ("collective-permute", "v5e-8", None, "ici", 1.0),
    ("all-reduce", "v5e-8", 2, "dcn", 0.0),
    ("all-reduce", "v4-8", 4, "ici", 0.0),
    ("all-reduce", "tpu7x-8", 2, "ici", 0.0),
    ("all-reduce", "tpu7x-8", 8, "ici", 6 / 7),
    ("all-reduce", "tpu7x-8", None, "ici", 0.0),
    ("collective-permute", "tpu7x-8", None, "ici", 0.0),
]


@pytest.mark.parametrize(("op", "tpu", "group", "link", "share"), COLLECTIVES)
def test_links_are_bound_by_least_bytes(
    op: str, tpu: str, group: int | None, link: str, share: float
) -> None:
    """Exchange within one chip, or between slices, needs no link."""
    collectives = [exchange(op, 7e8, group, link)]
    limits = bounded(tpu, collectives=collectives)["bound"]["limits"]
    amounts = [one["amount"] for one in limits if one["name"] == "links"]

    assert pytest.approx(share * 7e8) == sum(amounts)


def test_unknown_runs_bound_no_link() -> None:
    """A collective in a loop without a static count may never run."""
    collectives = [exchange("all-gather", None)]

    assert {"matrix unit", "HBM"} == {
        one["name"] for one in bounded(collectives=collectives)["bound"]["limits"]
    }


CAPS = [
    # the compiler's answer, seconds of the matrix units at 197 TFLOP/s
    ({"flops": 1.97e10}, 1e-4),
    ({"flops": 3e12}, 1e-2),
    ({"flops": 0.0}, 1e-2),
    ({"flops": 1.97e10, "loops": 1}, 1e-2),
    ({"flops": 1.97e10, "kernels": ["flash"]}, 1e-2),
]


@pytest.mark.parametrize(("answer", "seconds"), CAPS)
def test_compiler_may_need_fewer_flops(answer: dict[str, Any], seconds: float) -> None:
    """The compiler may merge equal products, and doesn't count loops and kernels."""
    limits = {one["name"]: one["seconds"] for one in bounded(**answer)["bound"]["limits"]}

    assert pytest.approx(seconds) == limits["matrix unit"]


def test_kernels_are_not_in_the_bound() -> None:
    """Kernels aren't in the bound, because their estimates may count skipped work."""
    claimed = {"matrix": [MATRIX | {"least_flops": 0.0}], "kernel_flops": 1.97e12}
    result = bounded(work={**WORK, **claimed}, measured_s=0.02)

    assert ["HBM"] == [one["name"] for one in result["bound"]["limits"]]
    assert pytest.approx((0.5, 0.5)) == (
        result["utilization"]["mfu"],
        result["utilization"]["mfu_unmasked"],
    )


@pytest.mark.parametrize(
    "work", [None, {"reason": "its trace could not be read"}, {**WORK, "unknown": ["`lu`"]},
             {**WORK, "matrix": []}]
)  # fmt: skip
def test_measured_time_without_utilization_has_its_reason(work: Any) -> None:
    """A measured time that gives no utilization has its reason."""
    result = bounded(work=work, measured_s=0.02, notes=["first"])

    assert ("first", 2) == (result["notes"][0], len(result["notes"]))
    assert "utilization" not in result


def test_measured_time_of_several_programs_gives_none() -> None:
    """A measured time of several programs gives no utilization, and each says so once."""
    first, second = bounded(), bounded() | {"program": "other"}
    alone = roofline_bound.add_measured_utilization([first], 0.02)
    results = roofline_bound.add_measured_utilization([first, second], 0.02)

    assert alone[0]["utilization"]["mfu"]
    assert [1, 1] == [len(one["notes"]) for one in results]
    assert not any("utilization" in one for one in results)


FORWARDED = [
    # results in the compiled program, shares of those in the trace, bytes that are written
    (2, {"0": 0.5, "1": 1.0}, 150.0),
    (2, {}, 200.0),
    (1, {"0": 0.5, "1": 1.0}, 0.0),
    (1, {"0": 1.0, "1": 1.0}, 100.0),
    (2, {"0": 0.0, "1": 1.0, "2": 1.0}, 0.0),
]


@pytest.mark.parametrize(("left", "shares", "written"), FORWARDED)
def test_forwarded_results_shift_no_shares(
    left: int, shares: dict[str, float], written: float
) -> None:
    """A result that is an argument may be missing, and then nobody knows which are left."""
    value = hlo.HloBuffer("x", "output", "f32[25]", "", 100, 512, "", "")

    assert written == count_written_bytes([value] * left, shares)


def test_bound_needs_counted_work() -> None:
    """A program that does not fit, and one without a trace, have none."""
    assert "bound" not in bounded(work=None)
    assert "bound" not in bounded(work={"reason": "its trace could not be read: KeyError: 'x'"})
    assert "bound" not in bounded(status="does-not-fit", hbm_bytes=1)


@pytest.mark.parametrize(
    "odd",
    [
        {"devices": 0},
        {"read_bytes": -1},
        {"read_bytes": float("nan")},
        {"matrix": [{}]},
        {"written_shares": {"x": 0.5}},
        {"written_shares": {"0": 1.5}},
        [],
    ],
)
def test_odd_work_is_no_work(odd: Any) -> None:
    """A user's process counts it, and may send anything."""
    assert "bound" not in bounded(work={**WORK, **odd} if odd else odd)


def test_measured_time_gives_utilization() -> None:
    """Recomputation is no work of the model, and masked scores may be left out."""
    work = {
        **WORK,
        "matrix": [MATRIX | {"flops": 4e12, "least_flops": 3e12}],
        "rematerialized_flops": 1e12,
    }
    found = bounded("v6e-8", measured_s=4e12 / 918e12 / 0.5, work=work)["utilization"]

    assert pytest.approx((0.5, 0.375)) == (found["hfu"], found["mfu"])
    assert pytest.approx(0.375 * 0.75) == found["mfu_unmasked"]
    assert "bf16" == found["peak_type"]


def test_every_generation_with_slices_has_peaks() -> None:
    """Matrix units and memory are bounded for each TPU that is rehearsed."""
    for row in GENERATIONS:
        assert not row.counts or (row.bf16_tflops and row.hbm_gb_per_s), row.name


NOTES: dict[str, dict[str, Any]] = {
    "one device": {},
    "verbose": {"verbose": True, "flops": 2e12, "written_bytes": 1e8},
    "parts": {
        "verbose": True,
        "flops": None,
        "work": {
            **WORK,
            "matrix": [MATRIX, MATRIX | {"passes": 6, "flops": 1e12, "least_flops": 5e11}],
            "rematerialized_flops": 5e11,
            "kernel_flops": 3e11,
            "other_operations": 7.34e6,
            "unknown": ["`cholesky`"],
            "assumes": ["the branch of a `cond` with most FLOPs is taken"],
        },
    },
    "simplified": {"verbose": True, "flops": 1.97e10, "written_bytes": 1e8},
    "measured": {"measured_s": 0.02},
    "measured on eight devices": {
        "verbose": True,
        "flops": 2.5e11,
        "measured_s": 0.02,
        "work": {**WORK, "devices": 8},
    },
    "measured too fast": {"measured_s": 1e-3},
    "no trace": {"work": None, "verbose": True},
    "unread trace": {"work": {"reason": "its trace could not be read: KeyError"}, "verbose": True},
}


def test_notes_match_golden_file(request: pytest.FixtureRequest) -> None:
    """The bound reads as no measurement, with its parts, sources and what it leaves out."""
    lines: list[str] = []
    for name, options in NOTES.items():
        more = dict(options)
        verbose = more.pop("verbose", False)
        notes = bound_text.list_bound_notes(bounded(**more), verbose=verbose)
        lines += [f"# {name}", *(f"{label:8} {text}" for label, text in notes)]
    lines += ["# drawing", *roofline.draw_roofline(bounded(measured_s=0.02), 60)]
    golden = TESTS / "golden" / "bound-notes.txt"
    text = "\n".join(lines) + "\n"
    if request.config.getoption("--golden"):
        golden.write_text(text)

    assert golden.read_text() == text


@pytest.mark.parametrize("width", [40, 61, 200])
def test_drawing_is_as_wide_as_asked(width: int) -> None:
    """The roofline is at most as wide as asked, with the program drawn once."""
    lines = roofline.draw_roofline(bounded(), width)

    assert max(map(len, lines)) <= width
    assert 1 == sum(line.count("●") for line in lines[:-1])


def test_no_bytes_draw_nothing() -> None:
    """A program without FLOPs, or without bytes, has no place on a roofline."""
    assert [] == roofline.draw_roofline(bounded(work={**WORK, "read_bytes": 0.0}), 80)
    assert [] == roofline.draw_roofline(bounded(work={**WORK, "read_bytes": 1e-300}), 80)
    assert [] == roofline.draw_roofline(bounded(work={**WORK, "matrix": []}), 80)
    assert [] == roofline.draw_roofline(bounded(), 20)


def test_svg_has_each_program_inside_its_frame() -> None:
    """The SVG is valid XML for any program name, and draws all within its frame."""
    names = ("v5e-8", "v6e-8")
    results = [bounded(tpu, measured_s=0.02) | {"program": "<&\x1b[31m"} for tpu in names]
    image = ElementTree.fromstring(roofline_svg.draw_roofline_svg(results))
    tags = [element.tag.rpartition("}")[2] for element in image.iter()]
    numbers = [
        float(value)
        for element in image.iter()
        for key in ("cx", "cy", "points")
        for value in re.split(r"[ ,]", element.get(key, "0"))
    ]

    assert (2, 2) == (tags.count("polyline"), tags.count("circle"))
    assert 0 <= min(numbers) <= max(numbers) <= 760
    assert (
        "svg" == ElementTree.fromstring(roofline_svg.draw_roofline_svg([])).tag.rpartition("}")[2]
    )


def test_svg_has_no_name_over_another() -> None:
    """Programs that are near each other, and roofs that are, have names in rows of their own."""
    flops = (1.97e12, 1.8e12, 1.5e12, 2e10)
    results = [
        bounded(tpu, work={**WORK, "matrix": [MATRIX | {"flops": one, "least_flops": one}]})
        | {"program": f"a_step_with_a_name_{one}"}
        for tpu in ("v6e-8", "tpu7x-8", "v5p-8", "v4-8")
        for one in flops
    ]
    image = ElementTree.fromstring(roofline_svg.draw_roofline_svg(results))
    guides = [
        (float(guide[1]), float(guide[2]))
        for one in image.iter()
        if one.get("class") == "guide" and (guide := GUIDE.match(one.get("d", "")))
    ]
    texts = [one for one in image.iter() if one.tag.endswith("text")]
    starts = [one for one in texts if one.get("text-anchor") == "start"]
    places = [(float(one.get("x", "")), float(one.get("y", "")), one.text or "") for one in starts]
    names = [text for _, _, text in places if "step" in text]

    assert len(flops) == len(names)
    for x, y, text in places:
        assert 0 <= x < x + 6 * len(text) <= 760
        covered = [
            other
            for left, top, other in places
            if other != text and abs(top - y) < 12 and x <= left < x + 6 * len(text)
        ]
        assert [] == covered
        if text in names:
            crossing = [left for left, top in guides if x < left < x + 6 * len(text) and top < y]
            assert [] == crossing
    assert len(flops) == len(guides)


@pytest.mark.parametrize("flops", [1e9, 1.97e12])
def test_svg_has_numbers_on_both_axes(flops: float) -> None:
    """One power of ten alone would not show the scale."""
    matrix = [MATRIX | {"flops": flops, "least_flops": flops}]
    image = ElementTree.fromstring(
        roofline_svg.draw_roofline_svg([bounded(work={**WORK, "matrix": matrix})])
    )
    texts = [one for one in image.iter() if one.tag.endswith("text")]
    numbers = {
        anchor: [one.text for one in texts if one.get("text-anchor") == anchor and one.text]
        for anchor in ("middle", "end")
    }

    numbers["end"].remove("FLOP for each byte of arguments and results")

    assert all(len(on_axis) >= 3 for on_axis in numbers.values()), numbers
