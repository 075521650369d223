"""Self-checks of multi-host slices: starting them on every host, and one verdict for all."""
