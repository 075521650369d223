"""Tests of a run as HTML: the report's text, and nothing that notebooks remove."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.runs import BLOCKED, BUSY, FINDING, HOST, NASTY, result, run_of
from tpustarter.checking.output import results_text, run_html
from tpustarter.checking.results.headline import format_headline
from tpustarter.checking.results.results import Run

HOSTILE = f"<script>alert(1)</script> {NASTY}"
TAGS = {"b", "br", "code", "details", "div", "pre", "span", "summary", "table", "tbody", "td", "tr"}
PROPERTIES = {
    *("background-color", "border", "border-collapse", "border-left", "border-radius"),
    *("border-top", "color", "cursor", "font-family", "font-size", "font-weight", "line-height"),
    *("margin", "max-width", "min-width", "opacity", "padding", "table-layout", "text-align"),
    *("vertical-align", "white-space", "width"),
}
"""Elements and properties that JupyterLab leaves in a saved notebook of somebody else."""

SLICE_HOST = {"host": 1, "name": "w-1", "python_version": "3", "frameworks": {}, "devices": 4}


class Elements(HTMLParser):
    """Collects elements and styles, and the texts of those that are folded and that are not."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.properties: set[str] = set()
        self.texts: dict[bool, str] = {True: "", False: ""}
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the element's name, its attributes and its style properties."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        for _, style in attrs:
            self.properties |= {one.split(":")[0].strip() for one in str(style).split(";")}
        self.open += [] if tag == "br" else [tag]

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Keep a text; the title of a folded part is not folded."""
        self.texts["details" in self.open and "summary" not in self.open] += data


def failing(**more: object) -> Run:
    """Make a run on a host with a result of each status, whose findings and log say something."""
    finding = {**FINDING, "verdict": "fail", "name": "bad sum", "hint": "run `tpustarter check a`"}
    other = {**FINDING, "verdict": "warn", "name": "late", **more}
    return run_of(
        HOST,
        result("fail", "jax.sum", findings=(finding, other)),
        result("error", "jax.killed", reason="crashed", log=f"last words {HOSTILE}"),
        result("warn", "jax.slow"),
        result("notrun", "jax.later", reason="interrupted"),
        BLOCKED,
        result("pass", "jax.sound"),
        hosts=[SLICE_HOST],
    )


def test_problems_are_shown_and_all_checks_folded() -> None:
    """Problems are shown with their next step, and every check has a folded row."""
    run = failing(hint="run `tpustarter check b`")
    found = Elements(run_html.render_html(run))
    shown, folded = found.texts[False], found.texts[True]

    assert [] == found.open
    assert "do: run tpustarter check b" in folded
    assert shown.strip().startswith(format_headline(run))
    for words in ("jax.sum", "bad sum", "run tpustarter check a", "jax.killed", "jax.slow"):
        assert words in shown
    assert {"late:", "w-1:"} <= {*folded.split()}, folded
    assert not any(name in shown for name in ("jax.sound", "jax.later", "host.sample"))
    assert all(one.id in folded for one in run.results)
    for line in results_text.opening_lines(run):
        assert line[0] in shown


def test_healthy_run_is_green_and_says_what_next() -> None:
    """A healthy run is green and shows only the headline and the next step unfolded."""
    page = run_html.render_html(run_of(HOST, result("pass")), closing="Read `tpustarter learn`")

    assert "Read tpustarter learn" in Elements(page).texts[False]
    assert "border-left: 5px solid #1a7f37" in page
    assert "border-left: 5px solid #1a7f37" not in run_html.render_html(failing())


def test_held_tpu_leads_to_what_frees_it() -> None:
    """If another process holds the TPU, the reason and the step that frees it are shown."""
    shown = Elements(run_html.render_html(run_of(HOST, BLOCKED, blocked=BUSY))).texts[False]

    assert BUSY.what in shown
    assert BUSY.hint in shown


def test_slice_of_tpus_has_the_note() -> None:
    """A slice of TPUs has the note that nobody has tried one, as in the text."""
    run = run_of(HOST, hosts=[SLICE_HOST, SLICE_HOST])
    run.target["platform"] = "tpu"
    note = results_text.NEVER_TRIED

    assert note in Elements(run_html.render_html(run)).texts[False]
    assert note not in Elements(run_html.render_html(failing())).texts[False]


def test_verbose_shows_what_passes_found() -> None:
    """Verbose HTML shows the findings of passing checks, as `-v` does in the text."""
    run = run_of(HOST)

    assert "sum: 2" in run_html.render_html(run, verbose=True)
    assert "sum: 2" not in run_html.render_html(run)


@pytest.mark.parametrize("verbose", [False, True])
def test_foreign_text_adds_no_element(*, verbose: bool, tmp_path: Path) -> None:
    """Text of a device stays text, and what a notebook would remove is not there."""
    path = tmp_path / "check.html"
    run_html.write_html(failing(found=HOSTILE), path, verbose=verbose)
    text = path.read_text()
    found = Elements(text)

    assert found.names <= TAGS
    assert {"style"} == found.attributes
    assert found.properties <= PROPERTIES
    assert 2 + verbose == text.count("&lt;script&gt;")
    assert html.unescape(re.sub("<[^>]+>", "", text)).replace("\n", "").isprintable()
