"""Split the report into paragraphs first: each begins with the words
`Compilation Cause`, and what comes before the first of them has no frames.

A frame looks like `name (/path/to/file.py:31)`. The regular expression
`r"\\((\\S+):(\\d+)\\)"` finds its path and its line.

In each paragraph take the first frame whose path has no `site-packages`, and
count `name of the file:line` with `collections.Counter`.

Learned: The debug report names the line that caused each compilation: it is
the first frame that lies outside `site-packages`.
"""

import collections
import re


def compilations_by_line(report):
    """Return `{file:line: compilations}` for the text of a report."""
    counter = collections.Counter()
    for part in report.split("Compilation Cause")[1:]:
        for path, line in re.findall(r"\((\S+):(\d+)\)", part):
            if "site-packages" not in path:
                name = path.rpartition("/")[2]
                counter[f"{name}:{line}"] += 1
                break
    return dict(counter)
