"""Canaries by collectors: nothing that names this machine or its user is in any file of a report.

Every source holds secrets at once; collectors report alone and all together. All bytes that would
be written are searched, the archive unpacked and packed.
"""

from __future__ import annotations

import gzip
import io
import json
import socket
import tarfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tests.support import report_machine as telling
from tests.support.fake_metadata import serve
from tpustarter.core import state
from tpustarter.report import make_report
from tpustarter.report.collect import known_failures as reported_failures
from tpustarter.report.collect.collector import ReportContext, SharedFacts
from tpustarter.report.forms import bundle, markdown_form
from tpustarter.report.make_report import BugReport

NAMES = [one.name for one in (*make_report.STATIC, *reported_failures.COLLECTORS)]
WAIT_S = 60.0
HANG_WAIT_S = 3.0
"""For a framework that hangs: the limit is reached in any case."""


@pytest.fixture
def context(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReportContext]:
    """Make a machine without chips on which every source has its texts."""
    yield from make_contexts(tmp_path, home, monkeypatch, None, "answers")


def make_contexts(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    generation: str | None,
    devices: str,
) -> Iterator[ReportContext]:
    """Yield the context of a machine on which every source has its texts."""
    monkeypatch.setattr(socket, "gethostname", lambda: telling.HOST)
    root, folder = tmp_path / "root", tmp_path / "zq7cwd"
    root.mkdir()
    folder.mkdir()
    log = folder / "zq7train.log"
    log.write_text("\n".join((*telling.TEXTS, *("RuntimeError: " + t for t in telling.TEXTS))))
    state.save_state("saved-20261120-100000-tpu", telling.telling_report())
    state.save_state("last-check", telling.telling_summary())
    with serve(telling.telling_metadata()) as address:
        machine = telling.telling_machine(root, home / "zq7home", address, generation)
        python = telling.hostile_python(tmp_path / "zq7venv", devices)
        wait_s = HANG_WAIT_S if devices == "hangs" else WAIT_S
        yield ReportContext(machine, folder, python, log, wait_s)


def written(report: BugReport) -> dict[str, bytes]:
    """Return everything that is published: files, their names, the archive and the output."""
    files = bundle.make_bundle_files(report)
    name = bundle.make_bundle_name(report.document)
    packed = bundle.make_archive(name, files)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = {one.name: repr(one.get_info()).encode() for one in tar}
    shown = markdown_form.render_markdown(report.document, limit=1 << 30).encode()
    names = "\n".join((name, *files, *members)).encode()
    return {
        **files,
        **members,
        "header": packed[:64],
        "unpacked": gzip.decompress(packed),
        "names": names,
        "shown": shown,
    }


def leaks(report: BugReport) -> dict[str, list[bytes]]:
    """Return which outputs hold which needles."""
    outputs = written(report)
    return {name: found for name, data in outputs.items() if (found := telling.found_in(data))}


def leaking(context: ReportContext, size: int) -> dict[tuple[str, ...], dict[str, list[bytes]]]:
    """Return the leaks of each set of `size` collectors, by their names."""
    found = {}
    for subset in combinations(NAMES, size):
        context.shared = SharedFacts()
        if leaked := leaks(make_report.make_report(context, query_frameworks=False, only=subset)):
            found[subset] = leaked
    return found


@pytest.mark.parametrize("size", [0, 1])
def test_no_canary_in_report_of_single_collector(size: int, context: ReportContext) -> None:
    """A report of a single collector, or of none, has no canary."""
    assert {} == leaking(context, size)


def test_no_canary_in_report_of_tpu_in_use(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holder, lock, nodes and slice have names too."""
    for context in make_contexts(tmp_path, home, monkeypatch, "v5e", "answers"):
        report = make_report.make_report(context)
        text = json.dumps(report.document)

        assert {} == leaks(report)
        assert "4242" in text
        assert "the TPU is in use by pid 4242" in text


def test_search_finds_canaries_without_cleaning(
    context: ReportContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without cleaning, the same search finds the canaries in every file."""
    from tpustarter.report.clean.cleaner import Cleaner

    monkeypatch.setattr(Cleaner, "clean_text", lambda _, text, lines=0: text)  # noqa: ARG005
    monkeypatch.setattr(Cleaner, "require_clean", lambda _, text: text)
    found = leaks(make_report.make_report(context, query_frameworks=False))

    assert {"report.md", "report.json", "unpacked", "shown"} <= set(found)
