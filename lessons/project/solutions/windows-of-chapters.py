"""How many windows does each chapter have? With these numbers, which index
is the first window of the third chapter?

`np.cumsum` of the counts gives, for each chapter, the first index after
it. Compute it once, in `__init__`.

`np.searchsorted(self.ends, index, side="right")` is then the chapter of an
index, because chapters without a window are skipped.

The window inside the chapter is `index` minus the end of the chapter
before, and for the first chapter that end is 0.

Learned: A data source can hide any layout of files, as long as it finds an
element by its index in little time.
"""

import sys

import corpus
import numpy as np


class ChapterWindows:
    """Windows of several texts, each inside one of them."""

    def __init__(self, chapters, length):
        self.chapters = chapters
        self.length = length
        counts = [max(0, len(one) - 1) // length for one in chapters]
        self.ends = np.cumsum(counts)

    def __len__(self):
        return int(self.ends[-1])

    def __getitem__(self, index):
        number = int(np.searchsorted(self.ends, index, side="right"))
        before = int(self.ends[number - 1]) if number else 0
        start = (index - before) * self.length
        return self.chapters[number][start : start + self.length + 1]
