"""Search in lessons, the glossary, checks and claims of older tutorials."""
