"""Running checks in probes: sessions, events, outcomes."""
