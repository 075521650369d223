"""Tests of stored runs, and of the changes between two of them."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import copies
from tests.support.runs import FINDING, HOST, NASTY, result, run_of
from tests.support.sessions import drive
from tpustarter.checking.output import run_comparison_text, run_document
from tpustarter.checking.results import run_comparison, saved_reports
from tpustarter.checking.results.results import STATUSES, Result
from tpustarter.core.problem import ExitCode, Problem

SCHEMA = json.loads(resources.files("tpustarter.checking").joinpath("schema.json").read_text())
FIELDS = dict[str, Any]


def report(*results: Result, **target: Any) -> FIELDS:
    """Return the document of a run, as it is read back."""
    run = run_of(*results)
    run.target.update(target)
    return json.loads(run_document.format_json_line(run_document.make_json_document(run)))


def figure(found: object, **more: Any) -> Result:
    """Return a check that found one figure."""
    return result("pass", "jax.figure", findings=({**FINDING, "found": found, **more},))


def compared(before: FIELDS, now: FIELDS) -> FIELDS:
    """Return the changes between two reports, which must fit the published schema."""
    changed = msgspec.to_builtins(changes(before, now))
    jsonschema.Draft202012Validator(SCHEMA).validate({**now, "comparison": changed})
    return changed


def changes(before: FIELDS, now: FIELDS) -> run_comparison.RunComparison:
    """Return the comparison of two documents."""
    return run_comparison.compare_runs(
        "then.json", saved_reports.parse_saved_report(before), saved_reports.parse_saved_report(now)
    )


CHANGES = [
    # status then, status now, change
    ("pass", "fail", "failing"),
    ("warn", "error", "failing"),
    ("skip", "notrun", "failing"),
    (None, "fail", "failing"),
    ("error", "fail", "worse"),
    ("fail", "error", "changed"),
    ("fail", "warn", "changed"),
    ("pass", "warn", "warning"),
    ("skip", "warn", "warning"),
    ("pass", "skip", "skipped"),
    ("fail", "skip", "skipped"),
    ("pass", None, "gone"),
    ("fail", None, "gone"),
    (None, "pass", "added"),
    (None, "warn", "added"),
    ("fail", "pass", "passing"),
    ("skip", "pass", "passing"),
]


@pytest.mark.parametrize(("was", "is_", "change"), CHANGES)
def test_changed_result_says_how(was: str | None, is_: str | None, change: str) -> None:
    """Each pair of statuses has one word, which is shown with both statuses."""
    before = report(*([result(was)] if was else []))
    now = report(*([result(is_)] if is_ else []))
    wanted = {"id": "jax.sample", "change": change, "before": was, "now": is_}

    assert [wanted] == compared(before, now)["results"]


@pytest.mark.parametrize("status", STATUSES)
def test_unchanged_result_is_not_listed(status: str) -> None:
    """A result with the same status is not listed, whatever the status is."""
    same = report(result(status))
    changed = compared(same, same)

    assert ([], 1) == (changed["results"], changed["same"]["results"])


def test_new_failures_come_first() -> None:
    """New failures come first, then lost results, missing ones, and those that pass again."""
    names = ("a", "b", "c", "d")
    then = [result(s, f"jax.{n}") for n, s in zip(names, ("fail", "pass", "pass", "pass"))]  # noqa: B905
    now = [result("pass", "jax.a"), result("skip", "jax.b"), result("fail", "jax.d")]
    told = [one["id"] for one in compared(report(*then), report(*now))["results"]]

    assert ["jax.d", "jax.b", "jax.c", "jax.a"] == told


FIGURES = [
    # then, now, more of the finding, told
    (8, 7, {}, True),
    (8, 8, {}, False),
    (8, 7, {"unit": "devices"}, True),
    (15.75, 15.5, {"unit": "GiB"}, True),
    (197.0, 181.0, {"unit": "TFLOP/s"}, False),
    (197.0, 160.0, {"unit": "TFLOP/s"}, True),
    (160.0, 197.0, {"unit": "TFLOP/s"}, True),
    (200, 190, {"unit": "GB/s"}, False),
    (1.0, 1.4, {"unit": "s"}, False),
    (1.0, 1.6, {"unit": "s"}, True),
    (30, 40, {"unit": "ms"}, False),
    (4.1e-7, 7.9e-7, {}, False),
    (4.1e-7, 2.4e-3, {}, True),
    (0.0, 4.1e-7, {}, True),
    (0.5, 0.7, {"unit": "n * 2**-24"}, False),
    (0.5, 1.7, {"unit": "n * 2**-24"}, True),
    (256.0, 257.0, {}, True),
    (61.2, 40.1, {"code": "HOST-SPACE-DISK", "unit": "GiB"}, False),
    (61.2, 4.0, {"code": "HOST-SPACE-DISK", "unit": "GiB"}, True),
    (1.0, -1.0, {"unit": "s"}, True),
    (4.1e-7, "nan", {}, True),
    ("unknown", 3, {}, True),
    (10**400, 7, {}, True),
    ("a", "b", {}, False),
    (True, False, {}, False),
]


@pytest.mark.parametrize(("was", "is_", "more", "told"), FIGURES)
def test_figure_is_reported_if_changed_beyond_noise(
    was: object, is_: object, more: FIELDS, told: bool
) -> None:
    """Exact figures for any change, measured ones only beyond their factor."""
    documents = [report(figure(one, **more), virtual=False) for one in (was, is_)]
    changed = compared(*documents)

    assert told == bool(changed["figures"])


@pytest.mark.parametrize(
    ("was", "is_", "unit", "told"),
    [
        (24.0, 110.0, "GB/s", False),
        (6.5, 30.0, "us", False),
        (6.5, 80.0, "us", True),
        (8, 7, "devices", True),
        (4.1e-7, 2.4e-3, None, True),
    ],
)
def test_speeds_of_virtual_devices_say_little(
    was: float, is_: float, unit: str | None, told: bool
) -> None:
    """Speed differences between virtual runs are noise, but exact figures must not change."""
    documents = [report(figure(one, unit=unit), virtual=True) for one in (was, is_)]

    assert told is bool(compared(*documents)["figures"])


def test_figure_says_how_much_and_by_which_rule() -> None:
    """A changed figure has its relative change and its noise factor, or null if it is exact."""
    rate = {"code": "JAX-RATE", "unit": "TFLOP/s", "entity": "device:3"}
    exact = [result("pass", findings=({**FINDING, "found": found},)) for found in (8, 6)]
    before = report(figure(200.0, **rate), exact[0], virtual=False)
    now = report(figure(150.0, **rate), exact[1], virtual=False)
    told = [
        (one["entity"], one["relative"], one["noise_factor"])
        for one in compared(before, now)["figures"]
    ]

    assert [("device:3", -0.25, 1.1), (None, -0.25, None)] == told


def test_figures_are_distinguished_by_entity_and_name() -> None:
    """Figures of one code are distinguished by entity and by name."""

    def findings(*found: int) -> tuple[FIELDS, ...]:
        names = (("sum", "device:0"), ("sum", "device:1"), ("x", None), ("y", None))
        return tuple(
            {**FINDING, "name": name, "entity": entity, "found": value}
            for (name, entity), value in zip(names, found, strict=True)
        )

    before = report(result("pass", findings=findings(1, 2, 3, 4)))
    now = report(result("pass", findings=findings(1, 9, 3, 8)))
    changed = compared(before, now)

    assert {("device:1", "sum"), (None, "y")} == {
        (one["entity"], one["name"]) for one in changed["figures"]
    }
    assert 2 == changed["same"]["figures"]


def test_every_row_of_noise_says_why() -> None:
    """Every row of the noise table has a factor above one, a reason and a unit that exists."""
    for row in (run_comparison.VIRTUAL, *run_comparison.NOISE):
        assert row.factor > 1
        assert len(row.why) > 20


def test_possible_causes_of_change_are_listed() -> None:
    """Differing versions, variables and targets are listed, with null for missing ones."""
    before = report(HOST, env={"JAX_PLATFORMS": "cpu"}, frameworks={"jax": "0.11.2"})
    now = report(
        HOST,
        env={"JAX_NUM_CPU_DEVICES": "8"},
        frameworks={"jax": "0.12.0.1"},
        python_version="3.13.1",
        devices=4,
        kind="TPU v6 lite",
    )
    now["host"] = {"chips": 8, "generation": "v6e"}
    changed = compared(before, now)
    told = {
        name: {(one["name"], one["before"], one["now"]) for one in changed[name]}
        for name in ("versions", "environment", "target")
    }

    assert {
        "versions": {("jax", "0.11.2", "0.12.0.1"), ("python", "3.12.1", "3.13.1")},
        "environment": {("JAX_PLATFORMS", "cpu", None), ("JAX_NUM_CPU_DEVICES", None, "8")},
        "target": {
            ("devices", 8, 4),
            ("kind", "cpu", "TPU v6 lite"),
            ("chips", 0, 8),
            ("generation", None, "v6e"),
        },
    } == told


@pytest.mark.parametrize("before", [None, [], 7, [["x"]]])
def test_added_setting_is_listed(before: object) -> None:
    """A setting that was added is listed, even if the file has unusual values."""
    changed = compared(report(HOST, settings=before), report(HOST, settings=["XLA_FLAGS"]))

    assert {"name": "XLA_FLAGS", "before": None, "now": "set"} in changed["environment"]


TEXT = """\
Changed since 2026-11-21 00:00:00 UTC (then.json):
FAIL  jax.sample            passed then, fails now
pass  jax.other             failed then, passes now
      jax.figure            sum (device:3): 200 then, 150 TFLOP/s now (-25%)
      devices               8 then, 4 now
      jax                   0.11.2 then, 0.12.0.1 now
1 result and 0 figures as before."""


def test_the_text_is_worst_first() -> None:
    """The text lists results, then figures, then possible causes, each line readable alone."""
    rate = {"unit": "TFLOP/s", "entity": "device:3"}
    then = report(
        result("pass", findings=()),
        result("fail", "jax.other", findings=()),
        figure(200.0, **rate),
        frameworks={"jax": "0.11.2"},
        virtual=False,
    )
    now = report(
        result("fail", findings=()),
        result("pass", "jax.other", findings=()),
        figure(150.0, **rate),
        devices=4,
        virtual=False,
    )

    assert TEXT == run_comparison_text.render_comparison(changes(then, now))


def test_nothing_changed_is_one_sentence() -> None:
    """If nothing changed, one sentence states how much was compared."""
    same = report(HOST, result("pass"))
    wanted = (
        "Nothing changed since 2026-11-21 00:00:00 UTC (then.json): 2 results and 2\n"
        "figures as before."
    )

    assert wanted == run_comparison_text.render_comparison(changes(same, same))


def test_many_added_or_removed_checks_are_one_line() -> None:
    """If many checks were added or removed, they are one line."""
    whole = report(HOST, *(result("pass", f"jax.c{n}") for n in range(30)))
    fewer, more = changes(whole, report(HOST)), changes(report(HOST), whole)

    assert "gone  30 checks             not in this run" in run_comparison_text.render_comparison(
        fewer
    )
    assert (
        "new   30 checks             not in the earlier run"
        in run_comparison_text.render_comparison(more)
    )


@given(
    st.lists(st.tuples(st.sampled_from(STATUSES), st.text(max_size=99), st.floats()), max_size=9)
)
def test_hostile_text_stays_text_and_fits(rows: list[tuple[str, str, float]]) -> None:
    """Control characters in an earlier report are not shown, and no line is too long."""
    before = report(HOST, env={NASTY: NASTY}, frameworks={NASTY: NASTY}, kind={"a": [NASTY]})
    before["started"] = NASTY
    before["results"] += [
        {"id": f"{name}{NASTY}", "status": status, "findings": [{"found": found, "code": NASTY}]}
        for status, name, found in rows
    ]
    before["results"].append({"id": "host.sample", "status": NASTY, "findings": [{}]})
    shown = run_comparison_text.render_comparison(changes(before, report(HOST)))

    assert all(c.isprintable() or c == "\n" for c in shown)
    assert max(map(len, shown.splitlines())) <= 80


# --- reports that are kept


def test_stored_report_is_read_back(home: Path) -> None:
    """A stored report can be read back; its name has time and machine, and `last` is the newest."""
    run = run_of(HOST)
    old = saved_reports.save_report(run_of(HOST, started="2026-11-20T00:00:00+00:00"), report())
    saved_reports.save_report(
        run_of(HOST, started="9999-01-01T00:00:00+00:00"), report()
    )  # by a wrong clock
    kept = saved_reports.save_report(run, run_document.make_json_document(run))

    assert home / "state/saved-20261121-000000-cpu.json" == kept
    assert (kept.name, saved_reports.parse_saved_report(report(HOST))) == saved_reports.read_report(
        "last"
    )
    assert old.name == saved_reports.read_report(str(old))[0]


def test_two_runs_in_one_second_are_both_kept() -> None:
    """Two runs in the same second are both stored."""
    kept = [saved_reports.save_report(run_of(HOST), report(HOST)) for _ in range(3)]

    assert 3 == len({path for path in kept if path.exists()})
    assert kept[-1].name.startswith(saved_reports.read_report("last")[0])


def test_the_kind_of_a_machine_is_no_path(home: Path) -> None:
    """A device kind that looks like a path doesn't leave the folder."""
    run = run_of(HOST)
    run.target["kind"] = "../../TPU v6 lite\x1b[2J/" + "x" * 500
    kept = saved_reports.save_report(run, report(HOST))

    assert home / "state" == kept.parent
    assert kept.name.startswith("saved-20261121-000000-tpu-v6-lite-2j-x")
    assert len(kept.name) < 80


@pytest.mark.first_use
def test_the_oldest_reports_are_dropped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of kept reports is bounded, and other files are left alone."""
    monkeypatch.setattr(saved_reports, "MOST", 3)
    (home / "state").mkdir()
    (home / "state/progress.json").write_text("{}")
    for day in range(10, 17):
        saved_reports.save_report(
            run_of(HOST, started=f"2026-11-{day}T00:00:00+00:00"), report(HOST)
        )
    names = sorted(path.name for path in (home / "state").iterdir())

    assert [f"saved-202611{day}-000000-cpu.json" for day in (14, 15, 16)] == names[1:]


def without(name: str, *, inside: str | None = None) -> str:
    """Return a report without one of its fields."""
    fields = report(HOST)
    del (fields[inside] if inside else fields)[name]
    return json.dumps(fields)


def changed(**more: Any) -> str:
    """Return a report with other fields."""
    return json.dumps({**report(HOST), **more})


BAD = [
    # what the file holds, what is said of it
    ("", "it is not JSON"),
    ("{", "it is not JSON"),
    ("\x1b[2J", "it is not JSON"),
    ("[" * 100_000, "it is not JSON"),
    ('{"a": 1e999}', "it is not JSON"),
    ("[]", "found no schema, expected `tpustarter.report/1`"),
    ("7", "found no schema"),
    ('{"schema": 7}', "found no schema"),
    ('{"schema": "tpustarter.learn/1"}', "found `tpustarter.learn/1`, expected"),
    ('{"schema": "tpustarter.report/2"}', "which a newer tpustarter made"),
    ('{"schema": "tpustarter.report/x"}', "found `tpustarter.report/x`, expected"),
    ('{"schema": "\\u001b[2J"}', "found `\\x1b[2J`, expected"),
    ('{"schema": "tpustarter.report/1", "error": {}}', "it describes an error, not a run"),
    (without("target"), "`target` is missing"),
    (without("env", inside="target"), "`target.env` is missing"),
    (without("results"), "`results` is missing"),
    (without("host"), "`host` is missing"),
    (changed(results=[7]), "`results[0]` is not a result"),
    (changed(**{"\ud800": 1}), "a name in it is no text"),
    (
        changed(results=[{"id": "a", "status": None, "findings": []}]),
        "`results[0]` is not a result",
    ),
    (changed(results=[{"id": "a", "status": "pass", "findings": [7]}]), "`results[0]` is no"),
]


@pytest.mark.parametrize(("held", "said"), BAD)
def test_file_without_report_is_one_problem(held: str, said: str, tmp_path: Path) -> None:
    """A file without a report is one problem: found and expected on one printable line."""
    path = tmp_path / "r.json"
    path.write_text(held)
    with pytest.raises(Problem) as caught:
        saved_reports.read_report(str(path))

    assert said in caught.value.full_text
    assert caught.value.full_text.isprintable()
    assert ExitCode.CONFIGURATION == caught.value.code


def test_unreadable_file_is_one_problem(tmp_path: Path) -> None:
    """Each kind of unreadable file, such as a folder, a pipe or 200 MB, is one problem."""
    (tmp_path / "big").touch()
    os.truncate(tmp_path / "big", 200 * 10**6)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes(b"\xff\xfe{")
    wanted = {
        str(tmp_path / "none\x1b[2J"): "there is no file `",
        str(tmp_path): "not a regular file",
        str(tmp_path / "pipe"): "not a regular file",
        str(tmp_path / "big"): "found 200000000 bytes, expected",
        str(tmp_path / "latin"): "it is not JSON",
        "last": "no report has been saved yet",
    }
    for name, said in wanted.items():
        with pytest.raises(Problem, match=said) as caught:
            saved_reports.read_report(name)

        assert caught.value.full_text.isprintable()
        assert caught.value.hint


# --- the command


def check(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `tpustarter check` on sample checks."""
    return copies.run(drive("check", *arguments), cwd=cwd)


def test_a_run_is_kept_and_compared_with(home: Path) -> None:
    """The report is stdout, where it is kept is stderr, and comparing changes no exit code."""
    first = check("host.passes", "--save")
    second = check("host.passes", "host.fails", "--save", "--compare", "last")
    third = check("host.passes", "--compare", "last", "--json")
    kept = sorted((home / "state").glob("saved-*.json"), key=lambda path: path.stem)

    assert 2 == len(kept)
    assert (0, f"saved: ~/state/{kept[0].name}\n") == (first.returncode, first.stderr)
    assert (1, 0) == (second.returncode, third.returncode)
    assert "FAIL  host.fails            not in the earlier run, fails now" in second.stdout
    fields = json.loads(third.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(fields)

    assert [("host.fails", "gone")] == [
        (one["id"], one["change"]) for one in fields["comparison"]["results"]
    ]
    assert "comparison" not in json.loads(kept[1].read_text())


def test_the_stream_of_events_ends_with_the_comparison(tmp_path: Path) -> None:
    """The last event, `finished`, has the comparison; earlier events don't."""
    (tmp_path / "then.json").write_text(json.dumps(report(HOST)))
    done = check("host.passes", "--ndjson", "--compare", "then.json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]

    assert ["finished"] == [one["event"] for one in events if "comparison" in one]


@pytest.mark.first_use
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_bad_file_is_refused_before_run(form: tuple[str, ...], home: Path) -> None:
    """No check is run, and no run is kept."""
    done = check("host.passes", "--save", "--compare", "nope.json", *form)

    assert 2 == done.returncode
    assert "error: there is no file `nope.json` to compare with" in done.stderr
    assert "host.passes" not in done.stdout
    assert [] == list(home.glob("state/*"))
    assert not form or json.loads(done.stdout)["exit_code"] == 2


def test_report_with_unknown_fields_can_be_compared() -> None:
    """A report with unknown fields of the same major version can be compared."""
    before = copy.deepcopy(report(HOST, result("pass")))
    before["later"], before["results"][0]["later"] = 1, 2

    assert [] == compared(before, report(HOST, result("pass")))["results"]
