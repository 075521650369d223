"""The files of a report: what the manifest says of them, who may read what, and nothing of whom."""

from __future__ import annotations

import hashlib
import json
import stat
import tarfile
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support.machines import lay_out
from tpustarter import state
from tpustarter.problem import Problem
from tpustarter.report import bundle, making, runs
from tpustarter.report.collecting import Context
from tpustarter.report.making import Report

SCHEMA = json.loads(resources.files("tpustarter.report").joinpath("schema.json").read_text())


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Return a report on a machine with chips and no Python."""
    root = tmp_path / "root"
    root.mkdir()
    machine = lay_out(root, "v6e", chips=4, env={"USER": "somebody", "TPU_NAME": "a-tpu-of-mine"})
    made = making.make(Context(machine, tmp_path, None), asks=False)
    made.names.of("host", "a-tpu-of-mine")
    return made


def test_the_document_has_the_published_shape(report: Report) -> None:
    """Every section is named, and every value is plain."""
    jsonschema.validate(report.document, SCHEMA)

    assert len({one["name"] for one in report.document["sections"]}) == len(
        report.document["sections"]
    )


def test_the_archive_holds_the_files_that_the_manifest_names(
    report: Report, tmp_path: Path
) -> None:
    """With their sizes and digests, and what was left out and why."""
    packed = bundle.write(report, tmp_path / "out")
    with tarfile.open(packed) as tar:
        members = {one.name: one for one in tar}
        data = {name: tar.extractfile(one).read() for name, one in members.items()}  # type: ignore[union-attr]
    name = packed.name.removesuffix(".tar.gz")
    manifest = json.loads(data[f"{name}/manifest.json"])

    assert {f"{name}/{file}" for file in ("report.md", "report.json", "manifest.json")} == {*data}
    assert {(0, 0, "", "", 0)} == {
        (one.uid, one.gid, one.uname, one.gname, one.mtime) for one in members.values()
    }
    for file in manifest["files"]:
        inside = data[f"{name}/{file['name']}"]
        assert (len(inside), hashlib.sha256(inside).hexdigest()) == (file["bytes"], file["sha256"])
        assert inside == (packed.parent / name / file["name"]).read_bytes()
    assert [one["what"] for one in manifest["left_out"] if one["what"] == "python"]


def test_the_same_report_makes_the_same_archive(report: Report) -> None:
    """So a digest of it can be told."""
    files = bundle.files(report)

    assert bundle.archive("x", files) == bundle.archive("x", files)


def test_what_leads_back_to_names_stays_here_for_this_user_alone(
    report: Report, tmp_path: Path
) -> None:
    """In the state folder, mode 0600, and it is not in the archive."""
    packed = bundle.write(report, tmp_path / "out")
    kept = state.path("report-names")

    assert 0o600 == stat.S_IMODE(kept.stat().st_mode)
    assert "a-tpu-of-mine" in kept.read_text()
    assert runs.remembered_names() == report.names.saved()
    with tarfile.open(packed) as tar:
        assert not [one for one in tar.getnames() if "names" in one]


def test_a_report_that_is_there_is_not_overwritten(report: Report, tmp_path: Path) -> None:
    """Two in one second are two."""
    bundle.write(report, tmp_path)
    with pytest.raises(Problem, match="File exists"):
        bundle.write(report, tmp_path)


def test_a_folder_that_takes_no_file_is_one_problem(report: Report, tmp_path: Path) -> None:
    """With the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="cannot make"):
        bundle.write(report, tmp_path / "file" / "below")
