"""One run on many hosts: arrive, connect, and run each check everywhere at once."""
