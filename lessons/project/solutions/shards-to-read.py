r"""`"1" in "model.layers.10.mlp"` is true. What is around the number of a
layer in a name?

There is `layers.` before it and a dot after it. A pattern with `(\d+)`
between the two finds the number, and nothing for arrays of no layer.

With `found = re.search(r"layers\.(\d+)\.", name)`, add the file if
`found is None`, or if `int(found[1])` is among `layers`.

Learned: The index says which files a host needs, and the number of a layer in
a name has to be read as a number.
"""

import re


def files_for(weight_map, layers):
    """Return the files that contain the arrays of these layers."""
    files = set()
    for name, file in weight_map.items():
        found = re.search(r"layers\.(\d+)\.", name)
        if found is None or int(found[1]) in layers:
            files.add(file)
    return sorted(files)
