"""Causes of a broken run on a TPU: from its log, from known failures, and from this machine.

`failures.yml` holds the known failures, one row each. A log is read as a stream (`log_reader`), its
signs are found (`log_scanner`) and weighed (`failure_ranking`); `machine_evidence` confirms those
that this machine shows.
"""
