"""Lessons: their content, the run and judgement of their code, and the learner's progress."""
