"""A run as HTML: the words of the report, coloured, and nothing that a device or a log adds."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

from tests.support.runs import FINDING, HOST, result, run_of
from tpustarter.checking.output import results_text, run_html

HOSTILE = "<script>alert(1)</script> & \ue010fail x\ue011 \x1b[31m"


class Tags(HTMLParser):
    """Collects the names of elements, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element is called, and what it has."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_html_has_the_words_of_the_report() -> None:
    """Without its elements it is the text, and failures and passes differ in colour."""
    run = run_of(HOST, result("fail", findings=({**FINDING, "verdict": "fail"},)))
    written = run_html.render_html(run)
    text = results_text.render_results(run, fold_passes=True)

    assert html.unescape(re.sub("<[^>]+>", "", written)).strip().endswith(text)
    assert 2 <= len(set(re.findall("color: (#[0-9a-f]{6})", written)))


def test_foreign_text_adds_no_element(tmp_path: Path) -> None:
    """Text of a device stays text, also where it looks like our own marks."""
    finding = {**FINDING, "verdict": "fail", "found": HOSTILE}
    path = tmp_path / "check.html"
    run_html.write_html(run_of(HOST, result("fail", findings=(finding,))), path)
    tags = Tags()
    tags.feed(path.read_text())

    assert ({"pre", "b"}, {"style"}) == (tags.names, tags.attributes)
    assert "&lt;script&gt;" in path.read_text()
