"""Names and secrets, removed from a report."""
