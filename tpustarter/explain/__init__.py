"""Why a run on a TPU broke: reads its log, ranks what is known about it, and looks at the machine.

`failures.yml` holds what is known, one row per failure. A log is read as a stream (`reading`), its
signs are found (`scanning`) and weighed (`ranking`); `looking` confirms what this machine shows.
"""
