"""Reproducers: one Python file that fails as a check or a block of a lesson did.

It needs a framework only. `standalone` merges the claim and all that it needs into one text,
`program` makes a file of that, and `reproducer_run` runs it, also under several `variants` of the
devices and settings.
"""
