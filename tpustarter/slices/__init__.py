"""One verdict for a slice of many hosts: its start on them, the run and what differs."""
