"""Canaries by collectors: nothing that names this machine or its user is in any file of a report.

Every source holds secrets at once, and each collector reports alone, beside every other one, and
all together. All bytes that would be written are searched, the archive unpacked and packed.
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
from tpustarter import state
from tpustarter.report import bundle, form, known, making
from tpustarter.report.collecting import Context
from tpustarter.report.making import Report

NAMES = [one.name for one in (*making.STATIC, *known.COLLECTORS)]
WAIT_S = 60.0
HANG_WAIT_S = 3.0
"""For a framework that hangs: the limit is reached in any case."""


@pytest.fixture
def context(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Have a machine without chips, on which every source tells everything."""
    yield from _context(tmp_path, home, monkeypatch, None, "answers")


def _context(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    generation: str | None,
    devices: str,
) -> Iterator[Context]:
    monkeypatch.setattr(socket, "gethostname", lambda: telling.HOST)
    root, folder = tmp_path / "root", tmp_path / "zq7cwd"
    root.mkdir()
    folder.mkdir()
    log = folder / "zq7train.log"
    log.write_text("\n".join((*telling.TEXTS, *("RuntimeError: " + t for t in telling.TEXTS))))
    state.save("saved-20261120-100000-tpu", telling.telling_report())
    state.save("last-check", telling.telling_summary())
    with serve(telling.telling_metadata()) as address:
        machine = telling.telling_machine(root, home / "zq7home", address, generation)
        python = telling.hostile_python(tmp_path / "zq7venv", devices)
        wait_s = HANG_WAIT_S if devices == "hangs" else WAIT_S
        yield Context(machine, folder, python, log, wait_s)


def written(report: Report) -> dict[str, bytes]:
    """Return everything that leaves: the files, their names, the archive, and what is shown."""
    files = bundle.files(report)
    name = bundle.name_of(report.document)
    packed = bundle.archive(name, files)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = {one.name: repr(one.get_info()).encode() for one in tar}
    shown = form.markdown(report.document, limit=1 << 30).encode()
    names = "\n".join((name, *files, *members)).encode()
    return {**files, **members, "header": packed[:64], "unpacked": gzip.decompress(packed),
            "names": names, "shown": shown}  # fmt: skip


def leaks(report: Report) -> dict[str, list[bytes]]:
    """Return which outputs hold which needles."""
    outputs = written(report)
    return {name: found for name, data in outputs.items() if (found := telling.found_in(data))}


def test_no_canary_is_in_a_report_of_each_collector_alone_and_of_each_two(
    context: Context,
) -> None:
    """Whether something is hidden never depends on what else was collected."""
    subsets = [*((one,) for one in NAMES), *combinations(NAMES, 2), ()]
    found = {}
    for subset in subsets:
        context.found.clear()
        report = making.make(context, asks=False, only=subset)
        if leaked := leaks(report):
            found[subset] = leaked
    print(f"canaries: {len(telling.TEXTS)} texts, {len(subsets)} subsets, {len(found)} leak")

    assert {} == found


@pytest.mark.parametrize("devices", telling.DEVICES)
def test_no_canary_is_in_a_whole_report_whatever_the_devices_do(
    devices: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a framework prints, says and raises is searched too, and so is the stack of a hang."""
    for context in _context(tmp_path, home, monkeypatch, None, devices):
        report = making.make(context)
        asked = next(one for one in report.document["sections"] if one["name"] == "jax")

        assert {} == leaks(report)
        assert asked["state"] == "answered"
        assert asked["facts"]["output"]
        assert report.document["replacements"]["secret"] > 10
        assert report.document["replacements"]["path"] > 10


def test_no_canary_is_in_a_report_of_a_tpu_that_somebody_uses(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holder, lock, nodes and slice have names too."""
    for context in _context(tmp_path, home, monkeypatch, "v5e", "answers"):
        report = making.make(context)
        text = json.dumps(report.document)

        assert {} == leaks(report)
        assert "4242" in text
        assert "the TPU is in use by pid 4242" in text


def test_the_search_finds_what_is_there(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cleaning is taken away, the same search finds the canaries in every file."""
    from tpustarter.report.cleaning import Cleaner

    monkeypatch.setattr(Cleaner, "text", lambda _, text, lines=0: text)  # noqa: ARG005
    monkeypatch.setattr(Cleaner, "proved", lambda _, text: text)
    found = leaks(making.make(context, asks=False))

    assert {"report.md", "report.json", "unpacked", "shown"} <= set(found)
