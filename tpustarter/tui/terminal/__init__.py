"""The terminal driver, and all code that uses private parts of Textual.

Try a new version of Textual on this package first: `tests/tui/test_textual_internals.py`.
"""
