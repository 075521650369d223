"""A report from another machine: read without trust, and judged by today's rules."""
