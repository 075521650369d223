"""Checks in probes: sessions, events, outcomes."""
