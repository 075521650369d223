"""Bars of plain text."""

from __future__ import annotations

from tpustarter.text import bars


def test_stage_bar_has_piece_proportional_to_each_stage() -> None:
    """Completed stages are full, and a started stage shows both shapes, however short it is."""
    stages = [(10, 1.0), (60, 0.5), (30, 0.0)]
    assert "━━━ ━━━━━━───── ──────" == bars.draw_staged_bar(stages, 22)
    assert "━━ ━─ ──" == bars.draw_staged_bar([(1, 1.0), (1, 0.1), (1, 0.0)], 8)
    assert 70 == len(bars.draw_staged_bar([(length, 0.0) for length in range(1, 12)], 70))


def test_bar_too_short_for_stages_shows_total() -> None:
    """A bar too short for its stages shows the completed part of the total."""
    assert "━━──" == bars.draw_staged_bar([(10, 1.0), (60, 0.5), (30, 0.0)], 4)
    assert "────────" == bars.draw_staged_bar([], 8)
