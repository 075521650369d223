"""Where tests find each other's files, whichever folder they stand in."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
REPOSITORY = TESTS.parent
"""The checkout; of an installed wheel the folder that the tests were copied to."""
SUPPORT = TESTS / "support"
SAMPLES = TESTS / "samples"
GOLDEN = TESTS / "golden"
