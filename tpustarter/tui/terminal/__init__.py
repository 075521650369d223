"""The terminal below Textual, and all else that touches what Textual keeps private.

A new version of Textual is tried on this folder first: `tests/tui/test_textual_internals.py`.
"""
