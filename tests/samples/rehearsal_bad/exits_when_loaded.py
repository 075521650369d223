"""It ends by itself when it is loaded."""

import sys

sys.exit(3)


def programs(devices):
    return []
