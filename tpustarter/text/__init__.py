"""Plain text for every front end: terminal, invocation, phrases, bars."""
