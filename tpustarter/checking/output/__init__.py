"""A run as text, as a JSON document, and as JUnit XML."""
