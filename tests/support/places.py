"""Paths of the tests and of the checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
REPOSITORY = TESTS.parent
"""The checkout, or the folder to which the tests of an installed wheel were copied."""
SUPPORT = TESTS / "support"
SAMPLES = TESTS / "samples"
GOLDEN = TESTS / "golden"
