"""Reports that are opened: shown and judged as today, and harmless whatever is in them."""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.places import TESTS
from tpustarter.explain import known as failures
from tpustarter.explain import scanning
from tpustarter.problem import ExitCode, Problem
from tpustarter.report import (
    again,
    bundle,
    comparing,
    comparing_text,
    making,
    name_shapes,
    opening,
    trackers,
    unpacking,
)
from tpustarter.report.admitting import Reader
from tpustarter.report.cleaning import Cleaner, Unclean
from tpustarter.report.pseudonyms import Pseudonyms

SCHEMA = json.loads(resources.files("tpustarter.report").joinpath("schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SAMPLES = TESTS / "samples/reports"
HANGS = SAMPLES / "hangs"
DOCUMENT: dict[str, Any] = json.loads((HANGS / "report.json").read_text())
GOOD_HOST = opening.read(SAMPLES / "good")
FILES = {one.name: one.read_bytes() for one in sorted(HANGS.iterdir())}
GIB = 1 << 30
EVIL = "\x1b]0;x\x07\x1b[31m<script>`*\u202etxt.exe\u2066"


def written(folder: Path, document: Any) -> Path:
    """Write a report.json; a text is written as it is."""
    file = folder / "report.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    """Write an archive as `report` does."""
    file = folder / "report.tar.gz"
    file.write_bytes(bundle.archive("tpustarter-report", files))
    return file


def refused(path: Path) -> Problem:
    """Open what is no report; return the one error."""
    with pytest.raises(Problem) as caught:
        opening.read(path)
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    return caught.value


def sound(document: dict[str, Any]) -> str:
    """Assert that a document can be shown in every form, and is harmless; return its text."""
    VALIDATOR.validate(document)
    shown = ""
    for tracker in trackers.TRACKERS:
        one = copy.deepcopy(document)
        one["first"]["tracker"] = tracker.id
        shown = opening.text(one, 1 << 30)
        assert all(line.isprintable() for line in shown.split("\n"))
    json.dumps(document, allow_nan=False)
    for pair in ((document, document), (GOOD_HOST, document), (document, GOOD_HOST)):
        told = comparing_text.render(comparing.compare(*pair))
        assert all(line.isprintable() for line in told.split("\n"))
    return shown


def stripped(value: Any) -> Any:
    """Return facts without spaces at the end of a line, which is where a line may have been cut."""
    return json.loads(re.sub(r" +(?=\\n|\")", "", json.dumps(value)))


@pytest.mark.parametrize("name", ["hangs", "good"])
def test_a_report_of_schema_1_says_the_same_today(name: str, tmp_path: Path) -> None:
    """The sample was made by 0.1.0: every fact of it is still there, and no byte has changed."""
    then = json.loads((SAMPLES / name / "report.json").read_text())
    files = {one.name: one.read_bytes() for one in (SAMPLES / name).iterdir()}
    for path in (SAMPLES / name, packed(tmp_path, files)):
        now = opening.read(path)
        sound(now)

        assert [] == now["opened"]["notes"]
        facts = {one["name"]: one["facts"] for one in now["sections"]}
        for one in then["sections"]:
            if one["name"] != "known":
                assert one["facts"] == facts[one["name"]]
        assert then["first"]["hung"] == now["first"]["hung"]
        kept = ("id", "confidence", "from", "line", "quote")
        assert [[one[key] for key in kept] for one in then["first"]["known"]] == [
            [one[key] for key in kept] for one in now["first"]["known"]
        ]


def test_what_is_made_and_opened_now_is_the_same(tmp_path: Path) -> None:
    """Nothing is lost on the way, and what was opened can be opened again."""
    once = opening.read(HANGS)
    twice = opening.read(written(tmp_path, once))
    for name in ("schema", "tool", "made", "seconds", "first", "sections", "left_out"):
        assert once[name] == twice[name]


def test_all_that_a_telling_machine_reports_stays_as_it_was(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts that are cleaned a second time are clean, and pseudonyms keep their numbers."""
    from tests.report.test_canaries import _context

    for context in _context(tmp_path, home, monkeypatch, "v5e", "raises"):
        made = making.make(context)
        now = opening.read(bundle.write(made, tmp_path / "out"))
        before = {one["name"]: one["facts"] for one in made.document["sections"]}
        after = {one["name"]: one["facts"] for one in now["sections"]}

        assert made.document["first"] == now["first"]
        assert stripped({**before, "known": 0}) == stripped({**after, "known": 0})


def test_today_is_told_apart_from_then(tmp_path: Path) -> None:
    """A version that is stale by now, a failure that is not recognised any more, another place."""
    one = copy.deepcopy(DOCUMENT)
    one["first"]["stale"] = [{"name": "libtpu", "found": "0.0.30", "newest": "0.0.99"}]
    one["first"]["known"][0]["id"] = "some-other-failure"
    one["first"]["tracker"] = "torchtpu"
    one["tool"]["version"] = "0.0.7"
    shown = opening.text(opening.read(written(tmp_path, one)), 1 << 30)
    head = " ".join(shown.partition("## Before you file")[0].split())

    assert "was made by tpustarter 0.0.7 at 2026-" in head
    assert "New today: jax 0.9.0 counts as stale, as 0.10.2 is out, and jaxlib" in head
    assert "`tpu-in-use-by-pid` is recognised, and it belongs to JAX." in head
    assert (
        "No longer so: libtpu counted as stale, and `some-other-failure` was recognised, and it "
        "belonged to TorchTPU." in head
    )


def test_a_tracker_that_was_named_stays(tmp_path: Path) -> None:
    """Whoever made the report said where it goes."""
    one = copy.deepcopy(DOCUMENT)
    one["first"] |= {"tracker": "tensorflow", "why_there": "you named it with `--for`"}

    assert "tensorflow" == opening.read(written(tmp_path, one))["first"]["tracker"]


def test_quotes_are_searched_with_the_failures_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is new finds its line, one that is gone finds nothing."""
    rows = failures.read()
    old = next(one for one in rows if one.id == "tpu-in-use-by-pid")
    new = replace(old, id="a-new-row", aliases=(), what="it is called differently", confirm=())
    monkeypatch.setattr(again.failures, "read", lambda: (new,))
    now = opening.read(HANGS)

    assert ["a-new-row"] == [one["id"] for one in now["first"]["known"]]
    assert [2] == [one["line"] for one in now["first"]["known"]]
    assert any("`a-new-row` is recognised" in one for one in now["opened"]["differs"])
    sound(now)


def test_what_excludes_a_failure_today_takes_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its own line is still there."""
    old = next(one for one in failures.read() if one.id == "tpu-in-use-by-pid")
    monkeypatch.setattr(again.failures, "read", lambda: (replace(old, unless=("not so at all",)),))
    one = copy.deepcopy(DOCUMENT)
    rows = one["sections"][-1]["facts"]["matches"]
    rows.append({**rows[0], "id": "another", "line": 3, "quote": "this is not so at all"})
    one["sections"][-1]["facts"]["last_error"] = None

    assert old.id in [row["id"] for row in opening.read(HANGS)["first"]["known"]]
    assert [] == opening.read(written(tmp_path, one))["first"]["known"]


@pytest.mark.parametrize("text", ["\x1b[31m", "a\u202eb", "x\x00", "hf_abcdefghijklmnopqrst"])
def test_a_text_that_is_taken_as_it_is_must_be_harmless(text: str) -> None:
    """Words, versions and paths are never changed, so they are refused."""
    with pytest.raises(Unclean):
        Reader("").proved(text)


def test_every_known_failure_is_found_again_in_what_a_report_quotes_of_it() -> None:
    """A report holds lines and not the log: cleaned and cut, they still show the same failure."""
    cleaner = Cleaner({}, Pseudonyms())
    scanner = scanning.Scanner(failures.read())
    examples = "\n\n".join(text for one in failures.read() for text in one.examples)
    quotes: list[str] = []
    owners: list[str] = []
    for name, seen in scanner.scan(io.BytesIO(examples.encode())).seen.items():
        for sign in (*seen.signs.get("shows", ()), *seen.signs.get("suggests", ())):
            quotes.append(cleaner.text(sign.quote, 2))
            owners.append(name)
    second = scanner.scan(io.BytesIO("\n".join(quotes).encode())).seen
    found = {name for name, one in second.items() if {"shows", "suggests"} & one.signs.keys()}
    hidden = {
        name
        for name, quote in zip(owners, quotes, strict=True)
        if name_shapes.PSEUDONYM.search(quote)
    }

    assert len(set(owners)) > 150
    assert set() == set(owners) - found - hidden


def test_what_is_recognised_by_a_path_stays_though_that_has_a_pseudonym(tmp_path: Path) -> None:
    """A pattern that needs the name that was taken out cannot speak against it."""
    one = copy.deepcopy(DOCUMENT)
    row = one["sections"][-1]["facts"]["matches"][0]
    one["sections"][-1]["facts"]["last_error"] = None
    row |= {"id": "service-agent-missing", "quote": "account email-1 is not there"}
    now = opening.read(written(tmp_path, one))

    assert ["service-agent-missing"] == [one["id"] for one in now["first"]["known"]]
    row["quote"] = "account is not there"
    assert [] == opening.read(written(tmp_path, one))["first"]["known"]


def changed(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return files of which one was changed."""
    return {**files, "report.json": files["report.json"].replace(b'"chips": 8', b'"chips": 4')}


NOTES: dict[str, tuple[dict[str, bytes], str]] = {
    "changed": (changed(FILES), "`report.json` changed after the report was made"),
    "no manifest": ({"report.json": FILES["report.json"]}, "There is no manifest"),
    "a bad manifest": ({**FILES, "manifest.json": b"[" * 9}, "The manifest cannot be used"),
    "an empty manifest": ({**FILES, "manifest.json": b'{"files": {"a": 1}}'},
                          "The manifest cannot be used"),
    "a file is gone": ({k: v for k, v in FILES.items() if k != "report.md"},
                       "`report.md` is missing: the manifest names it."),
    "files too many": ({**FILES, "a.py": b"", "b.py": b""},
                       "`a.py`, `b.py` are not in the manifest, and not shown."),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_what_the_manifest_says_is_told_in_a_sentence(name: str, tmp_path: Path) -> None:
    """Above the report, which is shown all the same; of an archive as of a folder."""
    files, sentence = NOTES[name]
    folder = tmp_path / "folder"
    folder.mkdir()
    for file, data in files.items():
        (folder / file).write_bytes(data)
    for path in (packed(tmp_path, files), *([folder] if "too many" not in name else [])):
        now = opening.read(path)

        assert sentence in " ".join(now["opened"]["notes"])
        assert sentence.split()[0] in sound(now).partition("## Before you file")[0]


def test_what_is_unknown_or_missing_is_said_and_nothing_else_is_lost(tmp_path: Path) -> None:
    """A report of a later 0.x has more, an older one has less."""
    one = copy.deepcopy(DOCUMENT)
    one["sections"] = [part for part in one["sections"] if part["name"] not in ("tpu", "limits")]
    one["sections"] += [{"name": "weather", "title": EVIL, "state": "answered", "facts": {"x": 1}},
                        {"name": EVIL}, 5]  # fmt: skip
    one["sections"][1]["facts"]["colour"] = "green"
    one["sections"][1]["facts"]["packages"]["jax"] = EVIL
    one["sections"][1]["facts"]["libtpu_bytes"] = "many"
    del one["first"], one["left_out"], one["replacements"], one["tool"], one["made"]
    now = opening.read(written(tmp_path, one))
    shown = sound(now)
    notes = " ".join(now["opened"]["notes"])

    assert "does not know the section `a section without a name`, `weather`, and" in notes
    assert "1 field is unknown to this version" in notes
    assert "1 field is not shown, because what they hold" in notes
    assert "does not say how it was judged" in " ".join(now["opened"]["differs"])
    assert (
        "TPU chips, device nodes and who uses them, after 0 s: the report was made before" in shown
    )
    assert "packages.jax: (not told)" in shown
    assert "python_version: 3.11.7" in shown


def test_words_of_a_report_are_never_markup_or_escapes(tmp_path: Path) -> None:
    """Wherever a text was told, another one stands there now."""
    one = json.loads(json.dumps(DOCUMENT), object_hook=None)

    def evil(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: evil(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [evil(item, key) for item in value]
        if isinstance(value, str) and key not in ("schema", "name", "state", "hung_in", "verdict"):
            return f"{EVIL}\n# {key}\n```\n<b>"
        return value

    shown = sound(opening.read(written(tmp_path, evil(one))))
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", shown, flags=re.DOTALL | re.MULTILINE)

    assert "<script>" not in re.sub(r"\\<", "", outside)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not re.search(r"^# ", outside, re.MULTILINE)


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
    "a link": (lambda: tar_of(member("r/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"), GOOD),
               "neither a file nor a folder"),
    "a hard link": (lambda: tar_of(member("r/report.json", type=tarfile.LNKTYPE, linkname="x")),
                    "neither a file nor a folder"),
    "a device": (lambda: tar_of(member("r/x", type=tarfile.CHRTYPE), GOOD), "neither a file"),
    "a pipe": (lambda: tar_of(member("r/x", type=tarfile.FIFOTYPE), GOOD), "neither a file"),
    "a sparse file": (lambda: tar_of(member("r/x", type=tarfile.GNUTYPE_SPARSE), GOOD),
                      "neither a file"),
    "a name twice": (lambda: tar_of(GOOD, GOOD), "two files called `r/report.json`"),
    "two reports": (lambda: tar_of(GOOD, member("s/report.json", b"{}")), "two reports"),
    "no report": (lambda: tar_of(member("r/report.md", b"x")), "no report.json"),
    "thousands of files": (lambda: tar_of(*(member(f"r/{n}", b"") for n in range(5000)), GOOD),
                           "more than 200 files"),
    "a size of 1 TB": (lambda: claims(10**12), "a header in it is none"),
    "a size of 8 GB": (lambda: claims(0o77777777777), "said to have 8,589,934,591 bytes"),
    "zeros without end": (lambda: bomb(GIB), "more than 20,000,000 bytes"),
    "cut off": (lambda: tar_of(GOOD)[:-40], "cut off in the middle"),
    "cut off inside": (lambda: gzip.compress(gzip.decompress(tar_of(GOOD))[:5000]), "fewer"),
    "damaged": (lambda: tar_of(GOOD)[:60] + b"\0" * 40 + tar_of(GOOD)[100:], "damaged"),
    "a bad header": (lambda: gzip.compress(b"r/report.json".ljust(257, b"\0") + b"ustar" +
                                           bytes(2000)), "a header in it is none"),
    "something behind it": (lambda: tar_of(GOOD) + b"#!/bin/sh", "something else follows"),
    "only gzip": (lambda: gzip.compress(b"hello"), "neither an archive"),
    "another file": (lambda: b"\x7fELF" + bytes(2000), "neither an archive"),
    "nothing": (lambda: b"", "neither an archive"),
    "a folder in place of it": (lambda: tar_of(member("r/report.json", type=tarfile.DIRTYPE)),
                                "no report.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_one_error_and_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what is wrong with it, and no file was made anywhere near."""
    data, why = HOSTILE[name]
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    (inside / "hostile.tar.gz").write_bytes(data())
    problem = refused(Path("hostile.tar.gz"))

    assert why in problem.what
    assert problem.what.startswith("cannot open `hostile.tar.gz`: ")
    assert "report.json" in str(problem.hint)
    assert ["hostile.tar.gz"] == [one.name for one in inside.iterdir()]
    assert ["inside"] == [one.name for one in tmp_path.iterdir()]


def test_archives_that_people_pack_again_are_read(tmp_path: Path) -> None:
    """With folders, headers for long names, hidden files of other systems, or no gzip any more."""
    folder = member("./r/", type=tarfile.DIRTYPE)
    extra = member("./r/._report.json", b"\0\5\x16\7")
    report = member("./r/report.json", FILES["report.json"], pax_headers={"comment": "x" * 600})
    rest = [member(f"./r/{name}", data) for name, data in FILES.items() if name != "report.json"]
    data = tar_of(folder, extra, report, *rest)
    for number, one in enumerate((data, gzip.decompress(data))):
        file = tmp_path / f"{number}.tar"
        file.write_bytes(one)

        assert DOCUMENT["made"] == opening.read(file)["made"]


DOCUMENTS = {
    "not JSON": ("{nope", "report.json is not JSON"),
    "deeply nested": ('{"a":' + "[" * 100_000, "report.json is not JSON"),
    "NaN": ('{"a": NaN}', "report.json is not JSON"),
    "an endless number": ('{"a": ' + "9" * 100_000 + "}", "report.json is not JSON"),
    "not UTF-8": ('{"a": "\udcff"}', "report.json is not JSON"),
    "no object": ('{}]', "report.json is not JSON"),
    "no schema": ("{}", "it says of no schema, expected `tpustarter.bug-report/1`"),
    "another schema": ('{"schema": "tpustarter.report/1"}', "found `tpustarter.report/1`, exp"),
    "a schema with escapes": ('{"schema": "\\u001b[31m\\u202e"}', "found `\\x1b[31m\\u202e`"),
    "a newer schema": ('{"schema": "tpustarter.bug-report/2"}',
                       "found `tpustarter.bug-report/2`, which a newer tpustarter made"),
    "an error": ('{"schema": "tpustarter.bug-report/1", "error": {}}', "an error of `tpustarter"),
    "no sections": ('{"schema": "tpustarter.bug-report/1"}', "it has no `sections`"),
    "too long": ('{"a": "' + "x" * 4_000_000 + '"}', "expected 4,000,000 at most"),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_none_is_one_error(name: str, tmp_path: Path) -> None:
    """In words that are safe to show."""
    text, why = DOCUMENTS[name]
    file = tmp_path / "report.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    problem = refused(file)

    assert why in problem.what
    assert ("update tpustarter, and open it again" == problem.hint) == (name == "a newer schema")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
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

    assert "no regular file" in refused(tmp_path / "pipe").what
    assert "no regular file" in refused(Path("/dev/zero")).what
    assert "no report.json" in refused(tmp_path).what
    assert "`report.json` in it is a link" in refused(folder).what
    assert "`more/deep/passwd` in it is a link" in refused(up).what
    assert ExitCode.USAGE == refused(tmp_path / "none").code


def test_a_folder_reads_nothing_that_its_manifest_leads_to_elsewhere(tmp_path: Path) -> None:
    """Names that lead up, or to the root, are no names of files."""
    for name in ("../secret", "/etc/passwd", "a/../../b", ".."):
        files = {**FILES, "manifest.json": json.dumps(
            {"files": [{"name": "report.json", "sha256": "0"}, {"name": name, "sha256": "0"}]}
        ).encode()}  # fmt: skip
        for file, data in files.items():
            (tmp_path / file).write_bytes(data)

        assert {"report.json", "manifest.json"} == unpacking.read(tmp_path).files.keys()


WRONG: tuple[Any, ...] = (
    None, True, -1, 10**30, 1.5e308, "", EVIL, "x" * 200_000, "1.2.3", "host-1", "9" * 4000, [],
    {}, [None], [[]], [{}], [EVIL], {"a": EVIL}, {EVIL: 1}, ["jax"] * 100, [{"id": 1}] * 3,
)  # fmt: skip


@pytest.fixture
def few_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know three failures, for to search for all of them takes a second each time."""
    rows = [one for one in failures.read() if one.id == "tpu-in-use-by-pid" or one.confirm]
    monkeypatch.setattr(failures, "read", lambda: tuple(rows[:3]))


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
def test_a_wrong_value_in_any_field_is_shown_safely_or_one_error(tmp_path: Path) -> None:
    """Every place of a real report holds a value of every other kind once."""
    numbers = itertools.cycle(range(len(WRONG)))
    opened = 0
    for path in places(DOCUMENT):
        file = written(tmp_path, with_value(DOCUMENT, path, WRONG[next(numbers)]))
        try:
            now = opening.read(file)
        except Problem:
            continue
        sound(now)
        opened += 1

    assert opened > 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40)
    | st.sampled_from((EVIL, "hung_in", "fail", "jax", "answered", "confirmed")),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
SECTION = st.fixed_dictionaries(
    {"name": st.sampled_from([one["name"] for one in DOCUMENT["sections"]])},
    optional={
        "state": st.sampled_from(("answered", "unanswered")) | JSON,
        "why": JSON,
        "seconds": JSON,
        "facts": st.dictionaries(
            st.sampled_from(sorted({key for one in DOCUMENT["sections"] for key in one["facts"]})),
            JSON, max_size=8,
        ),
    },
)  # fmt: skip
DOCUMENT_OF_ANY = st.fixed_dictionaries(
    {"schema": st.just(making.SCHEMA), "sections": st.lists(SECTION, max_size=6) | JSON},
    optional={"first": JSON, "made": JSON, "tool": JSON, "left_out": JSON, "replacements": JSON,
              "seconds": JSON},
)  # fmt: skip


@pytest.mark.usefixtures("few_failures")
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(document=DOCUMENT_OF_ANY | JSON)
def test_no_document_raises_anything_but_a_problem(document: Any, tmp_path: Path) -> None:
    """Whatever JSON it is."""
    with contextlib.suppress(Problem):
        sound(opening.read(written(tmp_path, document)))


@pytest.mark.usefixtures("few_failures")
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_bytes_raise_anything_but_a_problem(tmp_path: Path, data: st.DataObject) -> None:
    """An archive with bytes changed, cut off or doubled, packed or not."""
    plain = gzip.decompress(bundle.archive("r", FILES))
    one = bytearray(plain)
    for _ in range(data.draw(st.integers(1, 4))):
        one[data.draw(st.integers(0, len(one) - 1))] = data.draw(st.integers(0, 255))
    start = data.draw(st.integers(0, len(one)))
    cut = bytes(one[: data.draw(st.integers(start, len(one)))]) if start % 2 else bytes(one)
    file = tmp_path / "r.tar.gz"
    file.write_bytes(gzip.compress(cut, mtime=0) if start % 3 else cut)
    with contextlib.suppress(Problem):
        sound(opening.read(file))


_LIMITED = """
import re, sys
from pathlib import Path
from tpustarter.problem import Problem
from tpustarter.report import opening
def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
before = most()
try:
    opening.read(Path(sys.argv[1]))
    print("opened")
except Problem as problem:
    print(problem.what)
print(f"{before} MiB before it, {most() - before} MiB more")
"""


def limited(file: Path, limit: int) -> str:
    """Open a file in a process that may have so much memory; return what it said."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(file)], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_bomb_of_ten_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    """Neither a gzip of zeros nor a document of empty lists: a gigabyte of addresses is enough."""
    start = '{"schema": "tpustarter.bug-report/1", "sections": ['
    (tmp_path / "zeros.tar.gz").write_bytes(bomb(10 * GIB))
    (tmp_path / "lists.json").write_text(start + "[]," * 1_300_000 + "[]]}")
    (tmp_path / "sections.json").write_text(start + '{"name":"tpu"},' * 250_000 + "{}]}")
    for name, why in (("zeros.tar.gz", "cannot open"), ("lists.json", "opened"),
                      ("sections.json", "opened")):  # fmt: skip
        told = limited(tmp_path / name, GIB)
        print(name, (tmp_path / name).stat().st_size, "bytes:", told)

        assert told.startswith(why)
        assert int(re.findall(r"(\d+) MiB more", told)[0]) < 300
