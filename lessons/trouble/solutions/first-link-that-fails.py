"""Ask six questions in a fixed order. The first one whose answer is bad
returns a name, so each is an `if` with a `return`.

For the variables, go through `KEEPS_OFF_THE_TPU.items()` and compare each
value with `machine["variables"].get(name)`.

Some chips have no device node if `machine["nodes"] < machine["chips"]`.
Without chips there are no nodes either, so ask for the chips first.

Learned: Look at the links in a fixed order, because one that is missing
makes those after it look broken, too.
"""

KEEPS_OFF_THE_TPU = {
    "JAX_PLATFORMS": "cpu",
    "PJRT_DEVICE": "CPU",
    "TPU_LOAD_LIBRARY": "0",
}


def first_link(machine):
    """Return the name of the first link that fails, or None."""
    for name, value in KEEPS_OFF_THE_TPU.items():
        if machine["variables"].get(name) == value:
            return "environment"
    if machine["libtpu"] is None:
        return "frameworks"
    if machine["chips"] == 0:
        return "chips"
    if machine["nodes"] < machine["chips"]:
        return "device_nodes"
    if machine["holder"] is not None:
        return "holder"
    if machine["started"] < machine["hosts"]:
        return "one_host"
    return None
