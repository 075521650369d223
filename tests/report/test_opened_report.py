"""Reports that are opened: shown and judged as today, and harmless whatever is in them."""

from __future__ import annotations

import copy
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.bundles import (
    DOCUMENT,
    EVIL,
    FILES,
    HANGS,
    SAMPLES,
    packed,
    sound,
    written,
)
from tpustarter.core.redact import Redactor
from tpustarter.explain import known_failures as failures
from tpustarter.explain import log_scanner
from tpustarter.report import make_report
from tpustarter.report.clean import name_shapes
from tpustarter.report.clean.cleaner import Cleaner, UncleanText
from tpustarter.report.clean.pseudonyms import Pseudonyms
from tpustarter.report.forms import bundle
from tpustarter.report.open import failure_rescan, opened_report
from tpustarter.report.open.accepted_facts import ForeignText


def stripped(value: Any) -> Any:
    """Return facts without spaces at the end of a line, which is where a line may have been cut."""
    return json.loads(re.sub(r" +(?=\\n|\")", "", json.dumps(value)))


@pytest.mark.parametrize("name", ["hangs", "good"])
def test_report_of_schema_1_is_unchanged(name: str, tmp_path: Path) -> None:
    """The sample was made by 0.1.0: every fact of it is still there, and no byte has changed."""
    then = json.loads((SAMPLES / name / "report.json").read_text())
    files = {one.name: one.read_bytes() for one in (SAMPLES / name).iterdir()}
    for path in (SAMPLES / name, packed(tmp_path, files)):
        now = opened_report.open_report(path)
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


def test_opened_report_can_be_written_and_reopened(tmp_path: Path) -> None:
    """Nothing is lost on the way, and what was opened can be opened again."""
    once = opened_report.open_report(HANGS)
    twice = opened_report.open_report(written(tmp_path, once))
    for name in ("schema", "tool", "made", "seconds", "first", "sections", "left_out"):
        assert once[name] == twice[name]


def test_reopened_report_of_hostile_machine_is_unchanged(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts that are cleaned a second time are clean, and pseudonyms keep their numbers."""
    from tests.report.test_canaries import make_contexts

    for context in make_contexts(tmp_path, home, monkeypatch, "v5e", "raises"):
        made = make_report.make_report(context)
        now = opened_report.open_report(bundle.write_bundle(made, tmp_path / "out"))
        before = {one["name"]: one["facts"] for one in made.document["sections"]}
        after = {one["name"]: one["facts"] for one in now["sections"]}

        assert made.document["first"] == now["first"]
        assert stripped({**before, "known": 0}) == stripped({**after, "known": 0})


def test_differences_from_today_are_marked(tmp_path: Path) -> None:
    """A version that is stale by now, a failure that is not recognised any more, another place."""
    one = copy.deepcopy(DOCUMENT)
    one["first"]["stale"] = [{"name": "libtpu", "found": "0.0.30", "newest": "0.0.99"}]
    one["first"]["known"][0]["id"] = "some-other-failure"
    one["first"]["tracker"] = "torchtpu"
    one["tool"]["version"] = "0.0.7"
    shown = opened_report.render_report(opened_report.open_report(written(tmp_path, one)), 1 << 30)
    head = " ".join(shown.partition("## Before you file")[0].split())

    assert "was made by tpustarter 0.0.7 at 2026-" in head
    assert "New today: jax 0.9.0 counts as stale, as 0.10.2 is out, and jaxlib" in head
    assert "`tpu-in-use-by-pid` is recognised, and it belongs to JAX." in head
    assert (
        "No longer so: libtpu counted as stale, and `some-other-failure` was recognised, and it "
        "belonged to TorchTPU." in head
    )


def test_named_tracker_is_kept(tmp_path: Path) -> None:
    """The tracker named in a report is kept."""
    one = copy.deepcopy(DOCUMENT)
    one["first"] |= {"tracker": "tensorflow", "why_there": "you named it with `--for`"}

    assert "tensorflow" == opened_report.open_report(written(tmp_path, one))["first"]["tracker"]


def test_quotes_are_searched_for_current_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is new finds its line, one that is gone finds nothing."""
    rows = failures.read_known_failures()
    old = next(one for one in rows if one.id == "tpu-in-use-by-pid")
    new = replace(old, id="a-new-row", aliases=(), what="it is called differently", confirm=())
    monkeypatch.setattr(failure_rescan.failures, "read_known_failures", lambda: (new,))
    now = opened_report.open_report(HANGS)

    assert ["a-new-row"] == [one["id"] for one in now["first"]["known"]]
    assert [2] == [one["line"] for one in now["first"]["known"]]
    assert any("`a-new-row` is recognised" in one for one in now["opened"]["differs"])
    sound(now)


def test_current_exclusion_removes_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its own line is still there."""
    old = next(one for one in failures.read_known_failures() if one.id == "tpu-in-use-by-pid")
    monkeypatch.setattr(
        failure_rescan.failures,
        "read_known_failures",
        lambda: (replace(old, unless=("not so at all",)),),
    )
    one = copy.deepcopy(DOCUMENT)
    rows = one["sections"][-1]["facts"]["matches"]
    rows.append({**rows[0], "id": "another", "line": 3, "quote": "this is not so at all"})
    one["sections"][-1]["facts"]["last_error"] = None

    assert old.id in [row["id"] for row in opened_report.open_report(HANGS)["first"]["known"]]
    assert [] == opened_report.open_report(written(tmp_path, one))["first"]["known"]


@pytest.mark.parametrize("text", ["\x1b[31m", "a\u202eb", "x\x00", "hf_abcdefghijklmnopqrst"])
def test_unsafe_verbatim_text_is_refused(text: str) -> None:
    """Words, versions and paths are never changed, so they are refused."""
    with pytest.raises(UncleanText):
        ForeignText("").require_clean(text)


def test_every_known_failure_is_found_in_its_quotes() -> None:
    """A report holds lines and not the log: cleaned and cut, they still show the same failure."""
    cleaner = Cleaner({}, Pseudonyms())
    scanner = log_scanner.FailureScanner(
        failures.read_known_failures(), Redactor({}).redact_secrets
    )
    examples = "\n\n".join(text for one in failures.read_known_failures() for text in one.examples)
    quotes: list[str] = []
    owners: list[str] = []
    for name, seen in scanner.scan(io.BytesIO(examples.encode())).seen.items():
        for sign in (*seen.signs.get("shows", ()), *seen.signs.get("suggests", ())):
            quotes.append(cleaner.clean_text(sign.quote, 2))
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


def test_failure_with_pseudonymised_path_is_kept(tmp_path: Path) -> None:
    """A pattern that needs the name that was taken out cannot speak against it."""
    one = copy.deepcopy(DOCUMENT)
    row = one["sections"][-1]["facts"]["matches"][0]
    one["sections"][-1]["facts"]["last_error"] = None
    row |= {"id": "service-agent-missing", "quote": "account email-1 is not there"}
    now = opened_report.open_report(written(tmp_path, one))

    assert ["service-agent-missing"] == [one["id"] for one in now["first"]["known"]]
    row["quote"] = "account is not there"
    assert [] == opened_report.open_report(written(tmp_path, one))["first"]["known"]


def changed(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return files of which one was changed."""
    return {**files, "report.json": files["report.json"].replace(b'"chips": 8', b'"chips": 4')}


NOTES: dict[str, tuple[dict[str, bytes], str]] = {
    "changed": (changed(FILES), "`report.json` changed after the report was made"),
    "no manifest": ({"report.json": FILES["report.json"]}, "There is no manifest"),
    "a bad manifest": ({**FILES, "manifest.json": b"[" * 9}, "The manifest cannot be used"),
    "an empty manifest": (
        {**FILES, "manifest.json": b'{"files": {"a": 1}}'},
        "The manifest cannot be used",
    ),
    "a file is gone": (
        {k: v for k, v in FILES.items() if k != "report.md"},
        "`report.md` is missing: the manifest names it.",
    ),
    "files too many": (
        {**FILES, "a.py": b"", "b.py": b""},
        "`a.py` and `b.py` are not in the manifest, and not shown.",
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_manifest_mismatch_is_reported_above_report(name: str, tmp_path: Path) -> None:
    """Above the report, which is shown all the same; of an archive as of a folder."""
    files, sentence = NOTES[name]
    folder = tmp_path / "folder"
    folder.mkdir()
    for file, data in files.items():
        (folder / file).write_bytes(data)
    for path in (packed(tmp_path, files), *([folder] if "too many" not in name else [])):
        now = opened_report.open_report(path)

        assert sentence in " ".join(now["opened"]["notes"])
        assert sentence.split()[0] in sound(now).partition("## Before you file")[0]


def test_unknown_or_missing_field_loses_nothing_else(tmp_path: Path) -> None:
    """A report of a later 0.x has more, an older one has less."""
    one = copy.deepcopy(DOCUMENT)
    one["sections"] = [part for part in one["sections"] if part["name"] not in ("tpu", "limits")]
    one["sections"] += [
        {"name": "weather", "title": EVIL, "state": "answered", "facts": {"x": 1}},
        {"name": EVIL},
        5,
    ]
    one["sections"][1]["facts"]["colour"] = "green"
    one["sections"][1]["facts"]["packages"]["jax"] = EVIL
    one["sections"][1]["facts"]["libtpu_bytes"] = "many"
    del one["first"], one["left_out"], one["replacements"], one["tool"], one["made"]
    now = opened_report.open_report(written(tmp_path, one))
    shown = sound(now)
    notes = " ".join(now["opened"]["notes"])

    assert "does not know the section `a section without a name` and `weather`, and" in notes
    assert "1 field is unknown to this version" in notes
    assert "1 field is not shown, because what it holds" in notes
    assert "does not say how it was judged" in " ".join(now["opened"]["differs"])
    assert (
        "TPU chips, device nodes and who uses them, after 0 s: the report was made before" in shown
    )
    assert "packages.jax: (not told)" in shown
    assert "python_version: 3.11.7" in shown


def test_text_of_report_is_never_markup_or_escape(tmp_path: Path) -> None:
    """No text of a report becomes markup or an escape sequence."""
    one = json.loads(json.dumps(DOCUMENT), object_hook=None)

    def evil(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: evil(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [evil(item, key) for item in value]
        if isinstance(value, str) and key not in ("schema", "name", "state", "hung_in", "verdict"):
            return f"{EVIL}\n# {key}\n```\n<b>"
        return value

    shown = sound(opened_report.open_report(written(tmp_path, evil(one))))
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", shown, flags=re.DOTALL | re.MULTILINE)

    assert "<script>" not in re.sub(r"\\<", "", outside)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not re.search(r"^# ", outside, re.MULTILINE)
