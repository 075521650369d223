"""The search in lessons, glossary, checks and older claims."""
