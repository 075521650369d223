"""The files of a report: manifest, permissions, and no trace of the user."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tarfile
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support.machines import lay_out
from tpustarter.core import state
from tpustarter.core.problem import Problem
from tpustarter.report import make_report
from tpustarter.report.collect import check_runs
from tpustarter.report.collect.collector import ReportContext
from tpustarter.report.forms import bundle
from tpustarter.report.make_report import BugReport

SCHEMA = json.loads(resources.files("tpustarter.report").joinpath("schema.json").read_text())


@pytest.fixture
def report(tmp_path: Path) -> BugReport:
    """Return a report on a machine with chips and no Python."""
    root = tmp_path / "root"
    root.mkdir()
    machine = lay_out(root, "v6e", chips=4, env={"USER": "somebody", "TPU_NAME": "a-tpu-of-mine"})
    made = make_report.make_report(ReportContext(machine, tmp_path, None), query_frameworks=False)
    made.names.make_pseudonym("host", "a-tpu-of-mine")
    return made


def test_document_matches_published_schema(report: BugReport) -> None:
    """Every section is named, and every value is plain."""
    jsonschema.validate(report.document, SCHEMA)

    assert len({one["name"] for one in report.document["sections"]}) == len(
        report.document["sections"]
    )


def test_files_under_sudo_belong_to_caller(
    report: BugReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files made under sudo, and their new folders, belong to the caller."""
    if os.geteuid() != 0:
        pytest.skip("Only root can give a file to somebody else.")
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_GID", "65534")
    bundle.write_bundle(report, tmp_path / "out" / "of" / "it")

    assert {65534} == {one.stat().st_uid for one in (tmp_path / "out").rglob("*")}
    assert 65534 == (tmp_path / "out").stat().st_uid


def test_archive_holds_files_of_manifest(report: BugReport, tmp_path: Path) -> None:
    """The archive holds its manifest's files, with sizes, digests and what was left out."""
    packed = bundle.write_bundle(report, tmp_path / "out")
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


def test_same_report_makes_same_archive(report: BugReport) -> None:
    """The same report makes the same archive, byte for byte."""
    files = bundle.make_bundle_files(report)

    assert bundle.make_archive("x", files) == bundle.make_archive("x", files)


def test_pseudonym_key_stays_private_and_local(report: BugReport, tmp_path: Path) -> None:
    """The names behind the pseudonyms have mode 0600 and aren't in the archive."""
    packed = bundle.write_bundle(report, tmp_path / "out")
    kept = state.prepare_state_path("report-names")

    assert 0o600 == stat.S_IMODE(kept.stat().st_mode)
    assert "a-tpu-of-mine" in kept.read_text()
    assert check_runs.read_saved_pseudonyms() == report.names.list_pseudonyms()
    with tarfile.open(packed) as tar:
        assert not [one for one in tar.getnames() if "names" in one]


def test_existing_report_is_not_overwritten(report: BugReport, tmp_path: Path) -> None:
    """Two in one second are two."""
    bundle.write_bundle(report, tmp_path)
    with pytest.raises(Problem, match="File exists"):
        bundle.write_bundle(report, tmp_path)


def test_unwritable_folder_is_single_problem(report: BugReport, tmp_path: Path) -> None:
    """A folder that can't be written is one problem with the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="cannot make"):
        bundle.write_bundle(report, tmp_path / "file" / "below")
