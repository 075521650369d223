"""Rehearsal with a stand-in for the compiler: its answers, and every way in which it can fail."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tpustarter
from tests.checking.test_runner import ours, until_ended
from tests.support.machines import lay_out
from tests.support.processes import HANG_S
from tests.support.stub_compiler import CHECKS, REPORT
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.compile import answer_cache, compiler, memory_report
from tpustarter.rehearsal.programs import device_count_mismatch
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.run import Rehearsal, RehearsalStarted
from tpustarter.rehearsal.saved_files import SavedFiles
from tpustarter.rehearsal.text import rehearsal_text, report_files

SCHEMA = json.loads(resources.files("tpustarter.rehearsal").joinpath("schema.json").read_text())
GIB = 2**30

OUTCOMES = {
    # name: status of the second of its three programs, words of the reason, exit code
    "compiles": ("compiles", None, 0),
    "does_not_fit": ("does-not-fit", "(18.00G) exceeds available HBM (15.75G)", 1),
    "is_refused": ("refused", "no eig on [bold]this\x1b[31m TPU", 1),
    "aborts": ("error", "the compiler crashed: Check failed: tiles == 8", 3),
    "is_killed": ("error", "killed, most likely because this machine ran out of memory", 3),
    "exits": ("error", "the process ended without a verdict, exit code 0", 3),
    "hangs": ("error", "not compiled within 2 s", 3),
    "writes_garbage": ("error", "wrote something that is not an event", 3),
}
UNLISTED = {
    "aborts_when_listed": "the compiler crashed: the process was ended by SIGABRT",
    "raises_when_listed": "ValueError: no mesh of 8 devices",
}


def rehearse(stub: str, *ids: str, root: Path = Path("/"), **asked: Any) -> Rehearsal:
    """Rehearse sample checks for a v5e-8, unless other TPUs are given; return the rehearsal."""
    limit_s = 2.0 if "hangs" in ids else 120.0
    asked = {"tpus": ("v5e-8",), "timeout_s": limit_s, "jobs": 1, **asked}
    request = RehearsalRequest(ids=tuple(f"jax.{one}" for one in ids), compiler=stub, **asked)
    rehearsal = Rehearsal(
        request, machine=lay_out(root) if root != Path("/") else None, checks=CHECKS
    )
    for number, _ in enumerate(rehearsal.events()):
        assert number < 500, "it goes on for ever"
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(rehearsal.document())))
    return rehearsal


def told(rehearsal: Rehearsal, *names: str) -> list[Any]:
    """Return some fields of each result."""
    return [tuple(one.get(name) for name in names) for one in rehearsal.results]


@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_compiler_failure_costs_one_program(name: str, stub: str, tmp_path: Path) -> None:
    """Each sample ends as its name says, the programs round it compile, no process is left."""
    status, reason, code = OUTCOMES[name]
    rehearsal = rehearse(stub, name)

    expected = [("before", "compiles"), ("breaks", status), ("after", "compiles")]
    assert expected == told(rehearsal, "program", "status")
    assert code == rehearsal.exit_code
    assert (reason or "") in (rehearsal.results[1]["reason"] or "")
    until_ended(str(locations.make_state_folder()))


@pytest.mark.parametrize("name", sorted(UNLISTED))
def test_check_that_cannot_list_programs_is_one_error(name: str, stub: str) -> None:
    """A check that can't list its programs is one error, and the others still compile."""
    rehearsal = rehearse(stub, name, "compiles")
    broken = next(one for one in rehearsal.results if one["check"] == f"jax.{name}")

    assert {"before", "breaks", "after", f"jax.{name}"} == {
        one["program"] for one in rehearsal.results
    }
    assert 4 == len(rehearsal.results)
    assert UNLISTED[name] in broken["reason"]
    assert "error" == broken["status"]


def test_every_sample_has_an_outcome() -> None:
    """Every sample has an expected outcome."""
    names = {path.stem for path in (CHECKS / "jax").glob("[!_]*.py")}

    assert {*OUTCOMES, *UNLISTED, "by_size", "needs_many"} == names


def test_a_crash_keeps_the_compilers_own_words(stub: str) -> None:
    """The compiler's whole log of a crash is available on demand."""
    broken = rehearse(stub, "aborts").results[1]

    assert "F1121 06:14:46.452657" in broken["detail"]
    assert "Fatal Python error: Aborted" in broken["detail"]


def test_program_too_large_names_biggest_arrays(stub: str) -> None:
    """A second process is asked what filled the memory, and its report is read."""
    small, big, *_ = rehearse(stub, "does_not_fit").results

    assert int(15.75 * GIB) == small["hbm_limit_bytes"]
    assert (18 * GIB, int(15.75 * GIB)) == (big["hbm_bytes"], big["hbm_limit_bytes"])
    assert round(2.25 * GIB) == big["excess_bytes"]
    assert ["f32[32768,32768]"] * 4 + ["bf16[32768,32768]"] == [
        one["shape"] for one in big["buffers"]
    ]


@pytest.mark.parametrize(("old_jaxlib", "temporaries"), [("", 2048), ("1", 3072)])
def test_program_memory_is_allocated_memory(
    old_jaxlib: str, temporaries: int, stub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is what the compiler judges by, and it also tells a larger figure."""
    monkeypatch.setenv("STUB_OLD_JAXLIB", old_jaxlib)
    (one,) = rehearse(stub, "compiles", fresh=True).results[:1]

    assert temporaries == one["memory"]["temporaries"]
    assert 4096 + 4096 + 1024 + temporaries == one["hbm_bytes"]


def test_program_is_compiled_for_every_requested_tpu(stub: str) -> None:
    """Two TPUs and two checks make four tasks, however many processes share them."""
    rehearsal = rehearse(stub, "compiles", "is_refused", tpus=("v4-8", "v6e-8"), jobs=2)
    found = sorted(set(told(rehearsal, "check", "tpu", "topology")))

    assert 12 == len(rehearsal.results)
    assert found == [
        ("jax.compiles", "v4-8", "v4:2x2x1"),
        ("jax.compiles", "v6e-8", "v6e:2x4"),
        ("jax.is_refused", "v4-8", "v4:2x2x1"),
        ("jax.is_refused", "v6e-8", "v6e:2x4"),
    ]


def test_check_needing_more_devices_is_left_out(stub: str) -> None:
    """A check that needs more devices than the TPU has is skipped, which is no failure."""
    rehearsal = rehearse(stub, "needs_many", tpus=("v5e-8", "v5e-16"))

    assert [("many", "v5e-16", "compiles")] == told(rehearsal, "program", "tpu", "status")
    assert [
        {"name": "jax.needs_many", "tpu": "v5e-8", "reason": "it needs 9 devices, and v5e-8 has 8"}
    ] == rehearsal.skipped
    assert ExitCode.OK == rehearsal.exit_code


def test_program_for_other_size_is_noted_below_table(stub: str) -> None:
    """Its check has no such program there, which a `-` alone doesn't tell."""
    report = rehearsal_text.render_rehearsal(
        rehearse(stub, "by_size", tpus=("v5e-8", "v4-8", "v5p-8"))
    )

    assert "by_size: 2x4       ok    -    -" in report
    assert "-     by_size: ring of 8, 2x4 are for 8 devices, and v4-8, v5p-8 have 4" in report
    assert "-     by_size: ring of 4 is for 4 devices, and v5e-8 has 8" in report


def test_broken_program_makes_no_claim_about_others(stub: str) -> None:
    """A crashed program, which may have kept others from running, gives no claim about them."""
    rehearsal = rehearse(stub, "by_size", tpus=("v5e-8", "v4-8"))
    broken = {**rehearsal.results[0], "status": "error", "program": "ring of 4", "tpu": "v4-8"}
    del broken["devices"]

    assert [] == device_count_mismatch.describe_missing_answers(
        [rehearsal.results[0], broken], ["v5e-8", "v4-8"]
    )


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"STUB_HBM_GIB": "15.5"}, "another TPU: hbm_gib_per_device 15.5, expected 15.75"),
        ({"STUB_REFUSES": "v5e:2x4"}, "the compiler refused v5e:2x4: v5e:2x4 is not known"),
    ],
)
def test_tpu_contradicting_table_is_refused(
    env: dict[str, str], words: str, stub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the compiler describes another TPU than the table, its answers are refused."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    rehearsal = rehearse(stub, "compiles")

    assert [("jax.compiles", "refused")] == told(rehearsal, "program", "status")
    assert words in rehearsal.results[0]["reason"]
    assert ExitCode.FAILED == rehearsal.exit_code


def test_answer_is_stored_for_next_run(stub: str) -> None:
    """An answer is stored for the next run, but an error is compiled again."""
    first = rehearse(stub, "compiles", "does_not_fit", "is_refused", "aborts")
    second = rehearse(stub, "compiles", "does_not_fit", "is_refused", "aborts")
    same = [
        {k: v for k, v in one.items() if k not in ("seconds", "cached", "detail")}
        for run in (first, second)
        for one in run.results
    ]

    assert same[:12] == same[12:]
    assert [one["status"] != "error" for one in second.results] == [
        one["cached"] for one in second.results
    ]
    assert {"compiles", "does-not-fit", "refused"} == {
        one["status"] for one in second.results if one["cached"]
    }


def test_saved_files_are_those_of_the_answers(stub: str, tmp_path: Path) -> None:
    """Texts before and after, memory, table and document, also where an answer is stored."""
    folder = tmp_path / "kept"
    for _ in range(2):
        rehearsal = rehearse(stub, "does_not_fit", tpus=("v5e-8", "v5p:4x4x16"), save=str(folder))
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        before_and_after = {path for path in files if not path.startswith("rehearsal.")}
        report_files.write_report(rehearsal, SavedFiles(str(folder)))
    programs = {one["program"]: one["status"] for one in rehearsal.results}
    expected = {
        f"{tpu}/jax.does_not_fit/{name}/{text}"
        for tpu in ("v5e-8", "v5p-4x4x16")
        for name, status in programs.items()
        for text in ("before.mlir", "after.hlo", "memory.txt")
        if text != "after.hlo" or status == "compiles"
    }
    rows = (folder / "rehearsal.md").read_text().partition("\n\n")[0].splitlines()

    assert {"compiles", "does-not-fit"} == {*programs.values()}
    assert expected == before_and_after
    assert rehearsal.document() == json.loads((folder / "rehearsal.json").read_text())
    assert len(rehearsal.results) == len(rows) - 2


def test_file_is_no_folder_to_save_in(stub: str, tmp_path: Path) -> None:
    """Before anything is compiled."""
    file = tmp_path / "kept"
    file.touch()
    with pytest.raises(Problem) as problem:
        rehearse(stub, "compiles", save=str(file))

    assert ExitCode.USAGE == problem.value.code


def test_fresh_compiles_again(stub: str) -> None:
    """`fresh` ignores stored answers and stores the new ones."""
    rehearse(stub, "compiles", fresh=True)
    again = rehearse(stub, "compiles", fresh=True)
    stored = rehearse(stub, "compiles")

    assert [(False,)] * 3 == told(again, "cached")
    assert [(True,)] * 3 == told(stored, "cached")


@pytest.mark.parametrize("name", ["JAX_OPTIMIZATION_LEVEL", "JAX_MEMORY_FITTING_LEVEL"])
def test_effort_of_compiler_is_part_of_cache_key(
    stub: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another effort gives another program."""
    rehearse(stub, "compiles")
    monkeypatch.setenv(name, "O1")
    other, again = rehearse(stub, "compiles"), rehearse(stub, "compiles")

    assert [(False,)] * 3 == told(other, "cached")
    assert [(True,)] * 3 == told(again, "cached")


def test_unreadable_stored_answer_costs_one_compilation(stub: str) -> None:
    """A file that was cut off or written by something else costs one compilation."""
    names = ("compiles", "does_not_fit", "is_refused")
    rehearse(stub, *names)
    stored = list(answer_cache.make_cache_folder().glob("*.json"))
    for path, text in zip(
        stored, (b"", b'{"status"', b'{"status": "error"}', b"\x00\xff"), strict=False
    ):
        path.write_bytes(text)
    again = rehearse(stub, *names)

    assert ["compiles"] * 7 + ["does-not-fit", "refused"] == sorted(
        one["status"] for one in again.results
    )
    assert 4 == sum(not one["cached"] for one in again.results)
    assert all(json.loads(path.read_text())["status"] for path in stored)


def test_the_oldest_answers_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has a limit, and drops the answers that were unused for longest."""
    monkeypatch.setattr(answer_cache, "MOST", 3)
    for age_s, name in enumerate("abcde"):
        path = answer_cache.make_cache_folder() / f"{name}.json"
        path.write_text("{}")
        os.utime(path, (1000 - age_s, 1000 - age_s))
    left = sorted(path.stem for path in answer_cache.make_cache_folder().glob("*.json"))

    assert ["a", "b", "c"] == left


def test_full_disk_loses_only_stored_answer(stub: str) -> None:
    """A full disk loses only the stored answer, and leaves no half-written file."""
    result = {"key": "k", "status": "compiles", "cached": False}
    part = answer_cache.make_cache_folder() / f"k.{os.getpid()}"
    part.symlink_to("/dev/full")
    answer_cache.save_compiler_answer(result)

    assert [] == list(answer_cache.make_cache_folder().iterdir())


def test_machine_with_chips_is_refused_without_option(stub: str, tmp_path: Path) -> None:
    """A machine with TPU chips is refused without `beside_tpu`."""
    machine = lay_out(tmp_path, "v5e", chips=8)
    asked = RehearsalRequest(ids=("jax.compiles",), tpus=("v5e-8",), compiler=stub)
    with pytest.raises(Problem, match="this machine has TPU chips") as refusal:
        Rehearsal(asked, machine=machine, checks=CHECKS)
    beside = RehearsalRequest(
        ids=("jax.compiles",), tpus=("v5e-8",), compiler=stub, beside_tpu=True
    )
    rehearsal = Rehearsal(beside, machine=machine, checks=CHECKS)

    assert "--beside-tpu" in (refusal.value.hint or "")
    assert ExitCode.INCONCLUSIVE == refusal.value.code
    assert "v5e-8" == rehearsal.topologies[0].name


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"script": ("nosuch.py",)}, "there is no file `nosuch.py`"),
        ({"ids": ("nosuch.py:step",)}, "there is no file `nosuch.py`"),
        ({"ids": ("jax.nosuch",)}, "there is no check `jax.nosuch`"),
        ({"ids": ("jax.compiles",), "tpus": ("v9",)}, "unknown TPU type: found `v9`"),
        ({"ids": ("jax.compiles",), "python": "/nope"}, "`--python /nope` is not a Python"),
        ({"ids": ("jax.compiles",), "compiler": "/nope"}, "`--compiler /nope` is not a Python"),
    ],
)
def test_arguments_are_checked_before_machine(
    typed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """Arguments are checked before the machine, because they can be corrected at once."""
    machine = lay_out(tmp_path, "v5e", chips=8, env={"PATH": "/none"})

    with pytest.raises(Problem, match=re.escape(said)) as problem:
        Rehearsal(RehearsalRequest(**typed), machine=machine, checks=CHECKS)
    assert ExitCode.USAGE == problem.value.code


def test_nearly_matching_file_name_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file name near the typed one is suggested, if it is a Python file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    (tmp_path / "trian.pyc").write_text("")

    with pytest.raises(Problem, match=r"there is no file `trian\.py`") as problem:
        Rehearsal(RehearsalRequest(script=("trian.py",)))
    assert "did you mean `train.py`?" == problem.value.hint


def test_compiler_is_found_or_setup_is_hinted(stub: str, tmp_path: Path) -> None:
    """An active environment with JAX and libtpu is the compiler; without one the step is named."""
    if importlib.util.find_spec("libtpu"):
        pytest.skip("The Python that runs the tests has libtpu, so a compiler is always found.")
    machine = lay_out(tmp_path, env={"VIRTUAL_ENV": str(Path(stub).parents[1]), "PATH": "/none"})
    nothing = lay_out(tmp_path / "other", env={"PATH": "/none"})
    with pytest.raises(Problem, match="no Python found here has the TPU compiler") as problem:
        compiler.find_compiler_python(None, nothing)

    assert Path(stub) == compiler.find_compiler_python(None, machine)
    assert "`tpustarter setup rehearse`" in (problem.value.hint or "")


def test_schema_refuses_invalid_rehearsal(stub: str) -> None:
    """The schema can fail: a result without its TPU, or with a status of its own, is refused."""
    document = json.loads(json.dumps(rehearse(stub, "compiles").document()))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    wrong = []
    for change in ({"tpu": None}, {"status": "pass"}, {"memory": None}, {"cached": "no"}):
        results = [{**document["results"][0], **change}]
        wrong.append(validator.is_valid({**document, "results": results}))

    assert [False] * 4 == wrong
    assert validator.is_valid(document)


def test_stop_before_first_event_ends_rehearsal(stub: str) -> None:
    """A stop that comes before there is a process ends the run all the same."""
    request = RehearsalRequest(ids=("jax.hangs",), tpus=("v5e-8",), compiler=stub)
    rehearsal = Rehearsal(request, checks=CHECKS)
    rehearsal.stop()
    with pytest.raises(Problem, match="stopped before anything was compiled") as problem:
        list(rehearsal.events())

    assert ExitCode.INTERRUPTED == problem.value.code
    assert [] == ours(str(locations.make_state_folder()))


def test_stop_before_first_task_ends_rehearsal(stub: str) -> None:
    """A stop that comes when the compiler is found leaves nobody waiting for an answer."""
    names = ("jax.hangs", "jax.compiles", "jax.aborts", "jax.exits")
    rehearsal = Rehearsal(
        RehearsalRequest(ids=names, tpus=("v5e-8",), compiler=stub), checks=CHECKS
    )
    events = rehearsal.events()
    next(events)
    rehearsal.stop()
    rest = threading.Thread(target=lambda: list(events), daemon=True)
    rest.start()
    rest.join(HANG_S)

    assert not rest.is_alive()
    assert ExitCode.INTERRUPTED == rehearsal.exit_code


def test_abandoned_rehearsal_ends_its_processes(stub: str) -> None:
    """A front end that reads no further leaves no process behind."""
    request = RehearsalRequest(ids=("jax.hangs",), tpus=("v5e-8",), compiler=stub)

    def first(events: Iterator[object]) -> object:
        return next(events)

    events = Rehearsal(request, checks=CHECKS).events()
    began = first(events)
    events.close()  # type: ignore[attr-defined]

    assert isinstance(began, RehearsalStarted)
    until_ended(str(locations.make_state_folder()))


def test_the_compilers_report_on_memory_is_read() -> None:
    """Sizes are those of a device; the report on the memory of the host below it is another."""
    found = memory_report.parse_memory_report(REPORT.read_text())
    first = found["buffers"][0]

    expected = {
        "arguments": 8 * GIB,
        "outputs": 4 * GIB,
        "aliased": 0,
        "temporaries": 6 * GIB,
        "code": 0,
        "reserved": 258 * 2**20,
    }
    assert expected == found["memory"]
    assert (18 * GIB, round(2.25 * GIB)) == (found["hbm_bytes"], found["excess_bytes"])
    assert ("sort.8", "temporary", "jit(late)/jit(sort)/sort", 4 * GIB) == tuple(
        first[name] for name in ("name", "kind", "op", "laid_out_bytes")
    )
    assert ["temporary", "argument", "argument", "output", "temporary"] == [
        one["kind"] for one in found["buffers"]
    ]


def test_argument_in_report_has_name_of_program() -> None:
    """The compiler numbers them; where there are thousands, as parts of the first one."""
    names = ["params['w']", "batch"]
    by_number = memory_report.parse_memory_report(REPORT.read_text(), names)["buffers"]
    of_tuple = REPORT.read_text().replace("Argument 1 index {}", "Argument 0 index {1}")
    by_index = memory_report.parse_memory_report(of_tuple, names)["buffers"]
    unknown = memory_report.parse_memory_report(REPORT.read_text(), names[:1])["buffers"]

    for buffers, last in ((by_number, "batch"), (by_index, "batch"), (unknown, "")):
        assert [names[0], last] == [one["op"] for one in buffers if one["kind"] == "argument"]
    told = [rehearsal_text.format_array(one, "4.00 GiB") for one in (*by_number, *unknown)]
    assert "4.00 GiB  argument     f32[32768,32768]  params['w']" in told
    assert "4.00 GiB  argument 1   f32[32768,32768]" in told


@pytest.mark.parametrize("text", ["", "Used", "Used 1G of 2G hbm.", "x" * 1000, "=" * 99 + "\n"])
def test_log_without_report_has_no_fields(text: str) -> None:
    """A log without the compiler's memory report gives no fields."""
    assert {} == memory_report.parse_memory_report(text)


def test_the_package_offers_rehearse_without_importing_it() -> None:
    """`import tpustarter` costs nothing: what it rehearses with is imported by the call."""
    code = (
        "import sys, tpustarter; tpustarter.rehearse\n"
        "print('tpustarter.rehearsal.api' in sys.modules)"
    )
    root = str(Path(tpustarter.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )

    assert "False\n" == done.stdout


def test_most_different_tpus_run_first_report_keeps_order(stub: str) -> None:
    """The newest and the oldest say early how long the others take."""
    names = ("v2-8", "v5e-8", "v6e-8")
    rehearsal = rehearse(stub, "compiles", tpus=names)

    order = list(dict.fromkeys(told(rehearsal, "tpu")))
    assert [("v6e-8",), ("v2-8",), ("v5e-8",)] == order
    assert rehearsal.progress.is_total_final
    assert (100, None) == (rehearsal.progress.percent, rehearsal.progress.left_s)
    heads = rehearsal_text.render_rehearsal(rehearsal).splitlines()[0].split()
    assert list(names) == heads
