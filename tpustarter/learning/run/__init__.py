"""Running a lesson's blocks and judging their output."""
