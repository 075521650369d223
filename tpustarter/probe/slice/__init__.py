"""A run on several hosts: arrive, connect, and run each check on all of them at once."""
