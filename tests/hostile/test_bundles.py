"""Reports of anybody that are opened: hostile archives and documents are harmless."""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import itertools
import json
import os
import re
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.bundles import (
    DOCUMENT,
    EVIL,
    FILES,
    GIB,
    refused,
    sound,
    written,
)
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.explain import known_failures as failures
from tpustarter.report import make_report
from tpustarter.report.forms import bundle
from tpustarter.report.open import opened_report, unpack


def tar_of(*members: tuple[tarfile.TarInfo, bytes], more: bytes = b"") -> bytes:
    """Return a packed archive with these members."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, data in members:
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(inner.getvalue() + more)


def member(name: str, data: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member of an archive."""
    one = tarfile.TarInfo(name)
    one.size = len(data)
    for key, value in fields.items():
        setattr(one, key, value)
    return one, data


GOOD = member("r/report.json", FILES["report.json"])


def claims(size: int) -> bytes:
    """Return an archive with a header that claims a size."""
    header = bytearray(GOOD[0].tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = tarfile.itn(size, 12, tarfile.GNU_FORMAT)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return gzip.compress(bytes(header) + bytes(2048))


def bomb(size: int) -> bytes:
    """Return a gzip file that unpacks to so many zeros: one block of them, again and again."""
    chunk = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    first, other = (
        chunk.compress(bytes(1 << 20)) + chunk.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    return first + other * (size >> 20)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a path that leads up": (lambda: tar_of(member("../../etc/cron.d/x", b"x"), GOOD), "is a name"),
    "an absolute path": (lambda: tar_of(member("/etc/passwd", b"x"), GOOD), "is a name"),
    "a name with escapes": (lambda: tar_of(member("r/\x1b[31mx", b"x"), GOOD), "is a name"),
    "backslashes": (lambda: tar_of(member("r\\..\\..\\x", b"x"), GOOD), "is a name"),
    "an empty name": (lambda: tar_of(member("", b"x"), GOOD), "is a name"),
    "many folders": (lambda: tar_of(member("a/" * 30 + "x", b"x"), GOOD), "is a name"),
    "a link": (
        lambda: tar_of(member("r/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"), GOOD),
        "neither a file nor a folder",
    ),
    "a hard link": (
        lambda: tar_of(member("r/report.json", type=tarfile.LNKTYPE, linkname="x")),
        "neither a file nor a folder",
    ),
    "a device": (lambda: tar_of(member("r/x", type=tarfile.CHRTYPE), GOOD), "neither a file"),
    "a pipe": (lambda: tar_of(member("r/x", type=tarfile.FIFOTYPE), GOOD), "neither a file"),
    "a sparse file": (
        lambda: tar_of(member("r/x", type=tarfile.GNUTYPE_SPARSE), GOOD),
        "neither a file",
    ),
    "a name twice": (lambda: tar_of(GOOD, GOOD), "two files called `r/report.json`"),
    "two reports": (lambda: tar_of(GOOD, member("s/report.json", b"{}")), "two reports"),
    "no report": (lambda: tar_of(member("r/report.md", b"x")), "no report.json"),
    "thousands of files": (
        lambda: tar_of(*(member(f"r/{n}", b"") for n in range(5000)), GOOD),
        "more than 200 files",
    ),
    "a size of 1 TB": (lambda: claims(10**12), "a header in it is none"),
    "a size of 8 GB": (lambda: claims(0o77777777777), "said to have 8,589,934,591 bytes"),
    "zeros without end": (lambda: bomb(GIB), "more than 20,000,000 bytes"),
    "cut off": (lambda: tar_of(GOOD)[:-40], "cut off in the middle"),
    "cut off inside": (lambda: gzip.compress(gzip.decompress(tar_of(GOOD))[:5000]), "fewer"),
    "damaged": (lambda: tar_of(GOOD)[:60] + b"\0" * 40 + tar_of(GOOD)[100:], "damaged"),
    "a bad header": (
        lambda: gzip.compress(b"r/report.json".ljust(257, b"\0") + b"ustar" + bytes(2000)),
        "a header in it is none",
    ),
    "something behind it": (lambda: tar_of(GOOD) + b"#!/bin/sh", "something else follows"),
    "only gzip": (lambda: gzip.compress(b"hello"), "neither an archive"),
    "another file": (lambda: b"\x7fELF" + bytes(2000), "neither an archive"),
    "nothing": (lambda: b"", "neither an archive"),
    "a folder in place of it": (
        lambda: tar_of(member("r/report.json", type=tarfile.DIRTYPE)),
        "no report.json",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archive_is_one_error_without_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile archive is refused with its reason, and no file is written anywhere."""
    data, why = HOSTILE[name]
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    (inside / "hostile.tar.gz").write_bytes(data())
    problem = refused(Path("hostile.tar.gz"))

    assert why in problem.full_text
    assert problem.full_text.startswith("cannot open `hostile.tar.gz`: ")
    assert "report.json" in str(problem.hint)
    assert ["hostile.tar.gz"] == [one.name for one in inside.iterdir()]
    assert ["inside"] == [one.name for one in tmp_path.iterdir()]


def test_archives_that_people_pack_again_are_read(tmp_path: Path) -> None:
    """Repacked archives are read: with folders, long headers, hidden files, or without gzip."""
    folder = member("./r/", type=tarfile.DIRTYPE)
    extra = member("./r/._report.json", b"\0\5\x16\7")
    report = member("./r/report.json", FILES["report.json"], pax_headers={"comment": "x" * 600})
    rest = [member(f"./r/{name}", data) for name, data in FILES.items() if name != "report.json"]
    data = tar_of(folder, extra, report, *rest)
    for number, one in enumerate((data, gzip.decompress(data))):
        file = tmp_path / f"{number}.tar"
        file.write_bytes(one)

        assert DOCUMENT["made"] == opened_report.open_report(file)["made"]


DOCUMENTS = {
    "not JSON": ("{nope", "report.json is not JSON"),
    "deeply nested": ('{"a":' + "[" * 100_000, "report.json is not JSON"),
    "NaN": ('{"a": NaN}', "report.json is not JSON"),
    "an endless number": ('{"a": ' + "9" * 100_000 + "}", "report.json is not JSON"),
    "not UTF-8": ('{"a": "\udcff"}', "report.json is not JSON"),
    "no object": ("{}]", "report.json is not JSON"),
    "no schema": ("{}", "it names no schema, expected `tpustarter.bug-report/1`"),
    "another schema": ('{"schema": "tpustarter.report/1"}', "found `tpustarter.report/1`, exp"),
    "a schema with escapes": ('{"schema": "\\u001b[31m\\u202e"}', "found `\\x1b[31m\\u202e`"),
    "a newer schema": (
        '{"schema": "tpustarter.bug-report/2"}',
        "found `tpustarter.bug-report/2`, which a newer tpustarter made",
    ),
    "an error": ('{"schema": "tpustarter.bug-report/1", "error": {}}', "an error of `tpustarter"),
    "no sections": ('{"schema": "tpustarter.bug-report/1"}', "it has no `sections`"),
    "too long": ('{"a": "' + "x" * 4_000_000 + '"}', "expected 4,000,000 at most"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_invalid_document_is_one_error(name: str, tmp_path: Path) -> None:
    """An invalid document is one error that is safe to print."""
    text, why = DOCUMENTS[name]
    file = tmp_path / "report.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    problem = refused(file)

    assert why in problem.full_text
    assert ("update tpustarter, and open it again" == problem.hint) == (name == "a newer schema")


def test_special_file_is_refused(tmp_path: Path) -> None:
    """A pipe without end, a device, a folder without a report, a link in a folder."""
    os.mkfifo(tmp_path / "pipe")
    folder = tmp_path / "linked"
    folder.mkdir()
    (folder / "report.json").symlink_to("/etc/passwd")
    up = tmp_path / "up"
    (up / "more").mkdir(parents=True)
    (up / "report.json").write_bytes(FILES["report.json"])
    (up / "more/deep").symlink_to("/etc")
    rows = [{"name": name, "sha256": "0"} for name in ("report.json", "more/deep/passwd")]
    (up / "manifest.json").write_text(json.dumps({"files": rows}))

    assert "not a regular file" in refused(tmp_path / "pipe").full_text
    assert "not a regular file" in refused(Path("/dev/zero")).full_text
    assert "no report.json" in refused(tmp_path).full_text
    assert "`report.json` in it is a link" in refused(folder).full_text
    assert "`more/deep/passwd` in it is a link" in refused(up).full_text
    assert ExitCode.USAGE == refused(tmp_path / "none").code


def test_folder_reads_no_file_outside_itself(tmp_path: Path) -> None:
    """Names that lead up, or to the root, are no names of files."""
    for name in ("../secret", "/etc/passwd", "a/../../b", ".."):
        files = {
            **FILES,
            "manifest.json": json.dumps(
                {"files": [{"name": "report.json", "sha256": "0"}, {"name": name, "sha256": "0"}]}
            ).encode(),
        }
        for file, data in files.items():
            (tmp_path / file).write_bytes(data)

        assert {"report.json", "manifest.json"} == unpack.read_bundle(tmp_path).files.keys()


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5e308,
    "",
    EVIL,
    "x" * 200_000,
    "1.2.3",
    "host-1",
    "9" * 4000,
    [],
    {},
    [None],
    [[]],
    [{}],
    [EVIL],
    {"a": EVIL},
    {EVIL: 1},
    ["jax"] * 100,
    [{"id": 1}] * 3,
)


@pytest.fixture
def few_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know three failures, for to search for all of them takes a second each time."""
    rows = [
        one
        for one in failures.read_known_failures()
        if one.id == "tpu-in-use-by-pid" or one.confirm
    ]
    monkeypatch.setattr(failures, "read_known_failures", lambda: tuple(rows[:3]))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document; of a list, of its first item."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value if path == ("sections",) else value[:1]):
            yield from places(item, (*path, number))


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a document with another value in one place."""
    if not path:
        return value
    one = copy.copy(document)
    one[path[0]] = with_value(document[path[0]], path[1:], value)
    return one


@pytest.mark.usefixtures("few_failures")
def test_wrong_value_in_any_field_is_safe(tmp_path: Path) -> None:
    """Every place of a real report holds a value of every other kind once."""
    numbers = itertools.cycle(range(len(WRONG)))
    opened = 0
    for path in places(DOCUMENT):
        file = written(tmp_path, with_value(DOCUMENT, path, WRONG[next(numbers)]))
        try:
            now = opened_report.open_report(file)
        except Problem:
            continue
        sound(now)
        opened += 1

    assert opened > 200


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.sampled_from((EVIL, "hung_in", "fail", "jax", "answered", "confirmed")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=12,
)
SECTION = st.fixed_dictionaries(
    {"name": st.sampled_from([one["name"] for one in DOCUMENT["sections"]])},
    optional={
        "state": st.sampled_from(("answered", "unanswered")) | JSON,
        "why": JSON,
        "seconds": JSON,
        "facts": st.dictionaries(
            st.sampled_from(sorted({key for one in DOCUMENT["sections"] for key in one["facts"]})),
            JSON,
            max_size=8,
        ),
    },
)
DOCUMENT_OF_ANY = st.fixed_dictionaries(
    {"schema": st.just(make_report.SCHEMA), "sections": st.lists(SECTION, max_size=6) | JSON},
    optional={
        "first": JSON,
        "made": JSON,
        "tool": JSON,
        "left_out": JSON,
        "replacements": JSON,
        "seconds": JSON,
    },
)


@pytest.mark.usefixtures("few_failures")
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(document=DOCUMENT_OF_ANY | JSON)
def test_no_document_raises_anything_but_a_problem(document: Any, tmp_path: Path) -> None:
    """Whatever JSON it is."""
    with contextlib.suppress(Problem):
        sound(opened_report.open_report(written(tmp_path, document)))


@pytest.mark.usefixtures("few_failures")
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_bytes_raise_anything_but_a_problem(tmp_path: Path, data: st.DataObject) -> None:
    """An archive with bytes changed, cut off or doubled, packed or not."""
    plain = gzip.decompress(bundle.make_archive("r", FILES))
    one = bytearray(plain)
    for _ in range(data.draw(st.integers(1, 4))):
        one[data.draw(st.integers(0, len(one) - 1))] = data.draw(st.integers(0, 255))
    start = data.draw(st.integers(0, len(one)))
    cut = bytes(one[: data.draw(st.integers(start, len(one)))]) if start % 2 else bytes(one)
    file = tmp_path / "r.tar.gz"
    file.write_bytes(gzip.compress(cut, mtime=0) if start % 3 else cut)
    with contextlib.suppress(Problem):
        sound(opened_report.open_report(file))


_LIMITED = """
import re, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
from tpustarter.core.problem import Problem
from tpustarter.report.open import opened_report as opening
def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
before = most()
try:
    opening.open_report(Path(sys.argv[1]))
    print("opened")
except Problem as problem:
    print(problem.full_text)
print(f"{before} MiB before it, {most() - before} MiB more")
"""


def limited(file: Path, limit: int) -> str:
    """Open a file in a process with limited memory; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(file), str(limit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_bomb_of_ten_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    """Neither a gzip of zeros nor a document of empty lists uses much memory."""
    start = '{"schema": "tpustarter.bug-report/1", "sections": ['
    (tmp_path / "zeros.tar.gz").write_bytes(bomb(10 * GIB))
    (tmp_path / "lists.json").write_text(start + "[]," * 1_300_000 + "[]]}")
    (tmp_path / "sections.json").write_text(start + '{"name":"tpu"},' * 250_000 + "{}]}")
    for name, why in (
        ("zeros.tar.gz", "cannot open"),
        ("lists.json", "opened"),
        ("sections.json", "opened"),
    ):
        told = limited(tmp_path / name, GIB)
        print(name, (tmp_path / name).stat().st_size, "bytes:", told)

        assert told.startswith(why)
        assert int(re.findall(r"(\d+) MiB more", told)[0]) < 300
