"""Lessons: their content, running and judging their code, and the learner's progress."""
