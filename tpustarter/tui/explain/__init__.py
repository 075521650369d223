"""Failures explained: from a run, a paste or a log."""
