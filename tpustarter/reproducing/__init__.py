"""Reproducers: single Python files that fail as a check or a lesson block did.

A reproducer needs only a framework. `merged_code` merges a check and all that it needs into one
text, `reproducer_file` makes a file of it, and `reproducer_run` runs it, also under the `variants`
of devices and settings.
"""
