"""It ends its own process."""

import os

os.kill(os.getpid(), 9)


def programs(devices):
    return []
