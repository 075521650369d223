"""The self-check: its plan, its runs in probes, the verdict, and its output."""
