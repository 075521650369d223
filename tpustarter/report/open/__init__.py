"""A report from another machine: read without trust, and assessed by today's rules."""
