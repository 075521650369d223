"""Facts for a report: hardware, software, frameworks, runs, failures."""
