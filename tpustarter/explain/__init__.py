"""Causes of a failed TPU run, from its log, the known failures, and this machine.

`failures.yml` holds the known failures, one per row. A log is read as a stream (`log_reader`) and
scanned for their signs (`log_scanner`). The matches are ranked (`failure_ranking`), and
`machine_evidence` confirms those that this machine shows.
"""
