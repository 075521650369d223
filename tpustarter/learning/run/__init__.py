"""Runs of the blocks of a lesson, and the judgement of their output."""
