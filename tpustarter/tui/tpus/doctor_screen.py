"""The obstacles between a project and its first TPU, as `tpustarter tpu doctor` lists them."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.api.project_and_zone import PLACEHOLDER
from tpustarter.cloud.doctor import diagnosis
from tpustarter.cloud.doctor.diagnosis import DoctorReport
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import ProjectFinding
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.text_layout import HangingText, StackedText, status_word, style_sentence

STYLES = {"fail": "fail", "unknown": "notrun", "warn": "warn", "info": "stage", "ok": "pass"}
WIDTH = 15
"""Columns of a finding's id."""


class DoctorScreen(ListWithDetails):
    """The findings about the project that gcloud uses, worst first."""

    HELP = """
Opening this screen asks Google about the project that gcloud is configured for, with your own
credentials, and changes nothing. It takes 20 seconds at most.

* What stands in the way is at the top. Below the list you see what was found, and the command that
  fixes it or finds it out. **Enter** gives that the whole screen, and back.
* **r** asks again.
* `tpustarter tpu doctor --zone ZONE --type TYPE` also looks at the quota for a type in a zone.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "ask", "ask again", tooltip="tpustarter tpu doctor"),
    ]

    def __init__(self) -> None:
        super().__init__("What keeps this project from a TPU")
        self._findings: dict[str, ProjectFinding] = {}

    def on_mount(self) -> None:
        self.action_ask()

    def action_ask(self) -> None:
        self.show_text(f"Asking Google about the project, at most {diagnosis.TOTAL_S:g} s.")
        self._ask()

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-doctor")
    def _ask(self) -> None:
        try:
            is_known = project_and_zone.find_project(None) is not None
            project = project_and_zone.require_project(None) if is_known else PLACEHOLDER
            subject = DoctorTarget(project, project_and_zone.find_zone(None), show_names=True)
            self.post_message(FactsLoaded(diagnosis.diagnose_project(subject)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def on_facts_loaded(self, message: FactsLoaded[DoctorReport | Problem]) -> None:
        report = message.facts
        if isinstance(report, Problem):
            self.show_text("")
            self.show_error(report)
            return
        self._findings = {finding.id: finding for finding in report.findings}
        self.query_one(RowList).show(map(_make_row, report.findings))
        self.show_text(diagnosis.format_headline(report))
        self._show_details()

    @on(RowList.OptionHighlighted)
    def _show_details(self) -> None:
        finding = self._findings.get(self.query_one(RowList).highlighted_id or "")
        details = self.query_one("#details")
        details.display = finding is not None
        if finding is None:
            return
        lines = [HangingText("found   ", style_sentence(escape_text(finding.found)))]
        if finding.fix and finding.verdict != "ok":
            lines.append(HangingText("do      ", style_sentence(f"`{escape_text(finding.fix)}`")))
        lines.append(HangingText("source  ", finding.source))
        self.show_details(StackedText(lines))
        self.set_area_title("details", finding.title)
        details.scroll_home(animate=False)


def _make_row(finding: ProjectFinding) -> Row:
    word = status_word(STYLES[finding.verdict], finding.verdict.upper(), 9)
    label = word + f"{finding.id:<{WIDTH}}"
    return Row(finding.id, HangingText(label, style_sentence(escape_text(finding.found))))
