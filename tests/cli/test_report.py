"""Tests of `tpustarter report` as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.support import copies
from tests.support.places import TESTS
from tests.support.stubs import make_python
from tests.support.terminal import terminal

SCHEMA = json.loads(resources.files("tpustarter.report").joinpath("schema.json").read_text())
TPUSTARTER = (sys.executable, "-m", "tpustarter", "report")


@pytest.fixture
def python(tmp_path: Path) -> str:
    """Return a Python with a stub of JAX."""
    return str(make_python(tmp_path / "v", jax="0.12.0.1"))


def typed(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder."""
    return copies.run([*TPUSTARTER, *arguments], cwd=folder)


def test_without_terminal_or_yes_writes_nothing(tmp_path: Path, python: str) -> None:
    """Without a terminal or `--yes`, the text is on stdout, and no file is written."""
    out = tmp_path / "out"
    out.mkdir()
    done = typed("--python", python, "--no-ask", folder=out)

    assert 0 == done.returncode
    assert done.stdout.startswith("## Before you file\n")
    assert "Replaced in this text: " in done.stderr
    assert done.stderr.endswith("Nothing was written. `tpustarter report --yes` writes it.\n")
    assert [] == list(out.iterdir())


def test_yes_writes_files_and_shown_text(tmp_path: Path, python: str) -> None:
    """With `--yes`, the files are written in the requested form, and the text is shown."""
    out = tmp_path / "out"
    done = typed(
        "--python", python, "--yes", "--for", "cloud-tpu", "--out", str(out), folder=tmp_path
    )
    written = sorted(path.name for path in out.rglob("*") if path.is_file())
    markdown = next(out.rglob("report.md")).read_text()

    assert 0 == done.returncode
    assert ["manifest.json", "report.json", "report.md"] == [n for n in written if "tar" not in n]
    assert 1 == len([name for name in written if name.endswith(".tar.gz")])
    assert markdown == done.stdout
    assert "### Product" in markdown
    jsonschema.validate(json.loads(next(out.rglob("report.json")).read_text()), SCHEMA)


@pytest.mark.parametrize(("answer", "written"), [("n", False), ("y", True)])
def test_terminal_asks_before_writing(
    answer: str, written: bool, tmp_path: Path, python: str
) -> None:
    """On a terminal the question comes after the text, and a no writes nothing."""
    out = tmp_path / "out"
    words = ("report", "--python", python, "--no-ask", "--out", str(out))
    with terminal(*words, drive="drive_cli.py", lines=100) as screen:
        screen.until(lambda text: "Write this report?" in text)
        screen.press(f"{answer}\r")
        code = screen.end()
        told = screen.text

    assert 0 == code
    assert ("Written: " if written else "Nothing was written.") in told

    assert written == out.exists()


def test_json_prints_document_and_writes_nothing(tmp_path: Path, python: str) -> None:
    """The JSON document includes the output of the frameworks, and no file is written."""
    out = tmp_path / "out"
    out.mkdir()
    done = typed("--python", python, "--json", folder=out)
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)

    assert 0 == done.returncode
    assert [] == list(out.iterdir())
    assert "jax" in {one["name"] for one in document["sections"]}


REFUSED = {
    "a tracker that is none": (("--for", "mxnet"), "is not a tracker"),
    "a log that is not there": (("--log", "none.log"), "`none.log` cannot be read"),
    "a Python that is none": (("--python", "/none"), "is not a Python"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_options_are_refused_before_any_question(name: str, tmp_path: Path) -> None:
    """Invalid options are refused before any question, as text and as JSON."""
    arguments, what = REFUSED[name]
    done = typed(*arguments, folder=tmp_path)
    as_json = json.loads(typed(*arguments, "--json", folder=tmp_path).stdout)

    assert 2 == done.returncode
    assert what in done.stderr
    assert ("tpustarter.bug-report/1", 2) == (as_json["schema"], as_json["exit_code"])


def test_log_is_searched_and_cause_comes_first(tmp_path: Path, python: str) -> None:
    """A log is searched, the cause comes first, and names are removed from its line."""
    (tmp_path / "train.log").write_text(
        "/home/zq7/train.py: RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is "
        "already in use by process with pid 4242. Not attempting to load libtpu.so in this "
        "process.\n"
    )
    done = typed("--python", python, "--no-ask", "--log", "train.log", folder=tmp_path)

    assert "tpu-in-use-by-pid" in done.stdout.partition("### Description")[0]
    assert "zq7" not in done.stdout
    assert "4242" in done.stdout


def test_report_works_without_python(tmp_path: Path) -> None:
    """Without a Python, the report still describes the machine."""
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        [*TPUSTARTER, "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=env,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )

    assert 0 == done.returncode
    assert json.loads(done.stdout)["sections"]


SAMPLES = TESTS / "samples/reports"
GOOD, HANGS = str(SAMPLES / "good"), str(SAMPLES / "hangs")


def test_opened_report_shows_differences_and_writes_nothing(tmp_path: Path) -> None:
    """An opened report begins with today's differences, and no file is written."""
    done = typed("--open", HANGS, folder=tmp_path)
    document = json.loads(typed("--open", HANGS, "--json", folder=tmp_path).stdout)

    assert 0 == done.returncode
    assert done.stdout.startswith("`hangs` was made by tpustarter 0.1.0 at 2026-11-22 ")
    assert "\n## Before you file\n" in done.stdout
    assert "" == done.stderr
    jsonschema.validate(document, SCHEMA)
    assert "hangs" == document["opened"]["name"]
    assert [] == list(tmp_path.iterdir())


def test_compared_reports_exit_0_despite_differences(tmp_path: Path) -> None:
    """Reports that differ are compared with exit code 0, as with `check --compare`."""
    differ = typed("--compare", GOOD, HANGS, folder=tmp_path)
    same = typed("--compare", GOOD, GOOD, folder=tmp_path)
    document = json.loads(typed("--compare", GOOD, HANGS, "--json", folder=tmp_path).stdout)

    assert (0, 0) == (differ.returncode, same.returncode)
    assert "Host checks fail in B alone." in differ.stdout
    assert "nothing differs" in same.stdout
    assert "tpustarter.bug-report-comparison/1" == document["schema"]


UNREADABLE = {
    "another file": (("--open", __file__), 78, "neither an archive"),
    "no file": (("--open", "none.tar.gz"), 2, "cannot open `none.tar.gz`: No such file"),
    "one of two": (("--compare", GOOD, "none"), 2, "cannot open `none`"),
    "both": (("--open", GOOD, "--compare", GOOD, HANGS), 2, "give either --open or --compare"),
    "options of making": (
        ("--open", GOOD, "--yes", "--log", "x"),
        2,
        "--log and --yes make a report, and --open reads one",
    ),
    "an option of making": (
        ("--compare", GOOD, GOOD, "--wait", "30"),
        2,
        "--wait makes a report, and --compare reads two",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_report_is_single_error(name: str, tmp_path: Path) -> None:
    """An unreadable report is a single error, as text or as the requested JSON document."""
    arguments, code, what = UNREADABLE[name]
    done = typed(*arguments, folder=tmp_path)
    as_json = json.loads(typed(*arguments, "--json", folder=tmp_path).stdout)
    kind = "bug-report-comparison" if "--compare" in arguments else "bug-report"

    assert code == done.returncode
    assert what in done.stderr
    assert "" == done.stdout
    assert (f"tpustarter.{kind}/1", code) == (as_json["schema"], as_json["exit_code"])
