"""A run as text, as HTML, as a JSON document, and as JUnit XML."""
