"""The windows of the text as a Grain pipeline, whose position can be saved."""

import grain
import numpy as np


class Windows:
    """All windows of a text that share one token with the next: a source."""

    def __init__(self, tokens, length):
        self.tokens = tokens
        self.length = length

    def __len__(self):
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, index):
        start = int(index) * self.length
        return self.tokens[start : start + self.length + 1]


def dataset(tokens, length, batch, *, seed=0, host=0, hosts=1):
    """Return the batches of one host, epoch after epoch.

    `batch` is the global batch size. The batch of a step is the same for
    any number of hosts, because the order is made before it is split.
    """
    windows = grain.MapDataset.source(Windows(tokens, length))
    ordered = windows.seed(seed).shuffle().repeat()
    of_host = ordered[host::hosts]
    return of_host.batch(batch // hosts, batch_fn=np.stack)
