"""Lessons: what is in them, running and judging their code, and what the learner has done."""
