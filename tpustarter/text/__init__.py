"""Plain text shared by every front end: terminal, invocation, phrases, bars."""
