"""What runs inside the Python under test: a supervisor and the child that imports the framework.

Standard library only, Python 3.10 and newer. Checks import two names from here:
`finding.Finding` (what they yield) and `target.target` (what this run asked for).
"""
