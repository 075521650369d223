"""The differences between two reports: suspicious ones first, and none that always differ."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.support.places import TESTS
from tpustarter.report.compare import report_comparison, report_comparison_text
from tpustarter.report.open import opened_report

SCHEMA = json.loads(
    resources.files("tpustarter.report").joinpath("comparison.schema.json").read_text()
)
SAMPLES = TESTS / "samples/reports"


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """Return the report of a host on which all is well."""
    return opened_report.open_report(SAMPLES / "good")


@pytest.fixture(scope="module")
def hangs() -> dict[str, Any]:
    """Return the report of a host whose JAX hangs, with an older JAX and other variables."""
    return opened_report.open_report(SAMPLES / "hangs")


def facts(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the facts of a section."""
    return next(one["facts"] for one in document["sections"] if one["name"] == name)


def compared(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison, which has the published shape."""
    document: dict[str, Any] = msgspec.to_builtins(report_comparison.compare_reports(a, b))
    jsonschema.validate(document, SCHEMA)
    json.dumps(document, allow_nan=False)
    return document


def shown(a: dict[str, Any], b: dict[str, Any]) -> str:
    """Return the comparison as text."""
    return report_comparison_text.render_comparison(report_comparison.compare_reports(a, b))


def test_differences_begin_with_verdict_and_hang(
    good: dict[str, Any], hangs: dict[str, Any]
) -> None:
    """The verdict, the hang, the known failure, versions, variables and settings, in this order."""
    document = compared(good, hangs)
    groups = list(dict.fromkeys(row["group"] for row in document["differences"]))
    rows = {f"{row['section']}.{row['fact']}": row for row in document["differences"]}

    assert groups == [
        "verdict",
        "hang",
        "known failure",
        "version",
        "tpu",
        "variable",
        "setting",
        "name",
    ]
    first = document["differences"][0]
    assert ("checks", "verdict", "degraded", "unhealthy") == tuple(first.values())[1:5]
    assert "Host checks fail in B alone." == first["why"]
    assert "Only B hangs there." == rows["jax.hung_in"]["why"]
    assert (None, "jax.devices()") == (rows["jax.hung_in"]["a"], rows["jax.hung_in"]["b"])
    assert "B has the older one, and 0.10.2 is out." == rows["python.packages.jax"]["why"]
    assert "issues/22070" in rows["known.matches.tpu-in-use-by-pid"]["why"]
    assert ("always", "madvise") == tuple(rows["resources.huge_pages"].values())[3:5]
    assert "true" == rows["variables.flags.XLA_FLAGS: --xla_tpu_foo"]["b"]


def test_same_report_has_no_differences(good: dict[str, Any]) -> None:
    """A report compared with itself has no differences, and the number of facts is shown."""
    document = compared(good, good)

    assert [] == document["differences"]
    assert document["compared"] > 80
    assert f"Of {document['compared']} facts compared, nothing differs." in shown(good, good)


def test_volatile_values_are_counted_but_not_shown(good: dict[str, Any]) -> None:
    """Times, process numbers, free bytes, the number of a worker, and numbers inside of texts."""
    other = copy.deepcopy(good)
    other["made"], other["seconds"] = "2026-11-23T09:00:00+00:00", 99.0
    facts(other, "metadata")["worker"] = 3
    facts(other, "metadata")["seconds"] = 0.5
    facts(other, "resources")["free"][0]["free_bytes"] = 5
    facts(other, "logs")["files"] = []
    facts(other, "jax")["python_stack"] = "Thread 0x1f\n line 5"
    now = copy.deepcopy(good)
    facts(now, "jax")["python_stack"] = "Thread 0x2e\n line 7"
    document = compared(now, other)

    assert [] == document["differences"]
    assert document["expected"] >= 5
    assert "that differ between any two reports" in " ".join(shown(now, other).split())


CHANGES: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "a chip less": (
        "tpu",
        {"reachable_chips": 7},
        "tpu",
        "reachable_chips",
        "In B, 7 of 8 chips can be opened.",
    ),
    "a holder": (
        "tpu",
        {
            "holders": [
                {
                    "pid": 1,
                    "user": "user-1",
                    "age_s": 3,
                    "zombie": False,
                    "command": "python3",
                    "script": "path-1",
                    "nodes": [],
                }
            ]
        },
        "tpu",
        "holders.python3 path-1",
        "A process uses the TPU in B",
    ),
    "a lock of another": (
        "tpu",
        {"lock": {"state": "foreign", "path": "/tmp/x"}},
        "tpu",
        "lock.state",
        "In B, libtpu may not get its lock.",
    ),
    "another driver": (
        "tpu",
        {"on_pci": [{"address": "0000:00:04", "driver": "gasket", "nodes": []}]},
        "tpu",
        "on_pci.0000:00:04",
        "The chip has another driver.",
    ),
    "another image": (
        "metadata",
        {"runtime_version": "tpu-ubuntu2204-base"},
        "version",
        "runtime_version",
        "The runtime version brings the kernel",
    ),
    "no JAX": (
        "python",
        {"packages": {"numpy": "2.0"}},
        "version",
        "packages.jax",
        "jax is not installed in B.",
    ),
    "a smaller TPU": (
        "metadata",
        {"accelerator_type": "v6e-4"},
        "tpu",
        "accelerator_type",
        "These are two kinds of TPU",
    ),
    "fewer files": ("limits", {"open_files": 16}, "setting", "open_files", ""),
    "another path": ("python", {"path": "path-77"}, "name", "path", ""),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_has_section_and_reason(name: str, good: dict[str, Any]) -> None:
    """Whichever of the two is the bad one."""
    section, fields, group, fact, why = CHANGES[name]
    other = copy.deepcopy(good)
    facts(other, section).update(fields)
    rows = {row["fact"]: row for row in compared(good, other)["differences"]}
    turned = {row["fact"]: row for row in compared(other, good)["differences"]}

    assert group == rows[fact]["group"]
    assert (rows[fact]["why"] or "").startswith(why)
    assert bool(why) == bool(rows[fact]["why"])
    assert (rows[fact]["a"], rows[fact]["b"]) == (turned[fact]["b"], turned[fact]["a"])
    if " B" in why:
        assert " A" in turned[fact]["why"]


def test_unanswered_sections_are_named(good: dict[str, Any]) -> None:
    """Unanswered sections are named, with the reason if only one report has them."""
    other = copy.deepcopy(good)
    for one in other["sections"]:
        if one["name"] == "metadata":
            one |= {"state": "unanswered", "why": "the metadata server gave no answer (timed out)"}
    other["sections"] = [one for one in other["sections"] if one["name"] != "jax"]
    document = compared(good, other)
    text = " ".join(shown(good, other).split())

    assert ["metadata", "jax"] == [
        one["section"] for one in document["unanswered"] if one["in"] == ["b"]
    ]
    assert (
        "Only B has no answer for: Metadata of the TPU VM (the metadata server gave no answer "
        "(timed out))." in text
    )
    assert "(it was not asked)" in text
    assert "Neither has an answer for: Last run of the self-check" in text


def test_differing_pseudonyms_are_explained(good: dict[str, Any], hangs: dict[str, Any]) -> None:
    """Different pseudonyms are explained: only one machine's host-1 is the same host."""
    assert "If both reports are from one machine" in shown(good, hangs)
    assert "If both reports" not in shown(good, good)


def test_text_fits_80_columns(good: dict[str, Any], hangs: dict[str, Any]) -> None:
    """The text fits 80 columns, except for words that can't be broken."""
    other = copy.deepcopy(hangs)
    facts(other, "jax")["error"] = "\n".join(["word " * 200] * 3)
    lines = shown(good, other).split("\n")

    assert [] == [line for line in lines if len(line) > 80]
    assert all(line.isprintable() for line in lines)


def test_long_comparison_is_whole_in_document(good: dict[str, Any]) -> None:
    """A long comparison is whole in the document, and the text says how many are left."""
    other = copy.deepcopy(good)
    facts(other, "variables")["flags"] = [f"XLA_FLAGS: --xla_{n}=1" for n in range(64)]
    text = shown(good, other)

    assert 64 == len(compared(good, other)["differences"])
    assert "and 24 more, all of them with --json" in text
    assert 40 == text.count("--xla_")


def test_notes_on_either_report_are_shown(tmp_path: Path, good: dict[str, Any]) -> None:
    """Notes are shown for either report, such as that it changed after it was made."""
    for file in (SAMPLES / "good").iterdir():
        text = file.read_text()
        (tmp_path / file.name).write_text(
            text.replace('"cpus": 2', '"cpus": 3') if file.name == "report.json" else text
        )
    changed = opened_report.open_report(tmp_path)

    assert "`report.json` changed after the report was made" in shown(good, changed)
    assert ["cpus"] == [row["fact"] for row in compared(good, changed)["differences"]]
