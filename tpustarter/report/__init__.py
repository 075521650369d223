"""What came out, and every way to show it: text, JSON, JUnit."""
