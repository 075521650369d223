"""The part that runs inside the Python under test: a supervisor, and a child with the framework.

Standard library only, for Python 3.10 and newer. Checks import two names from this package:
`finding.Finding`, which they yield, and `target.target`, the request of this run.
"""
