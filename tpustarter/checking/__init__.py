"""The self-check: plan, runs in probes, verdict, and every way to show them."""
