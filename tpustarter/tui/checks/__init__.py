"""The screen of checks, while they run and afterwards."""
