"""The part that runs inside the Python under test: a supervisor, and a child with the framework.

Standard library only, Python 3.10 and newer. Checks import two names from here: `finding.Finding`,
which they yield, and `target.target`, the request of this run.
"""
