"""Results of checks and runs: data, verdict, headline, comparison, saved reports."""
