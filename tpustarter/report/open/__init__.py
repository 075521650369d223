"""Reading a report from another machine without trust, and assessing it by today's rules."""
