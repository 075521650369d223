"""Find the first link that fails.

`first_link` gets what is known about a machine: a dictionary with the
environment's `variables`, the version of `libtpu` (or None), the number of
`chips` on the PCI bus, the number of device `nodes`, the pid of the process
that holds the chips in `holder` (or None), the number of `hosts` in the
slice, and on how many of them the program was `started`.

Return the name of the first link that fails, in this order, or None:

* "environment": a variable in KEEPS_OFF_THE_TPU has the value named there
* "frameworks": there is no libtpu
* "chips": there is no chip
* "device_nodes": some chips have no device node
* "holder": another process holds the chips
* "one_host": the program was not started on every host
"""

KEEPS_OFF_THE_TPU = {
    "JAX_PLATFORMS": "cpu",
    "PJRT_DEVICE": "CPU",
    "TPU_LOAD_LIBRARY": "0",
}


def first_link(machine):
    """Return the name of the first link that fails, or None."""
    if machine["libtpu"] is None:
        return "frameworks"
    return None  # your code here


# Judged below: leave this part as it is.

SOUND = {
    "variables": {"HOME": "/home/ada", "JAX_PLATFORMS": "tpu,cpu"},
    "libtpu": "0.0.50.1",
    "chips": 8,
    "nodes": 8,
    "holder": None,
    "hosts": 1,
    "started": 1,
}
CASES = [
    ({}, None),
    ({"libtpu": None}, "frameworks"),
    ({"holder": 1537}, "holder"),
    ({"variables": {"JAX_PLATFORMS": "cpu"}}, "environment"),
    ({"variables": {"TPU_LOAD_LIBRARY": "0"}}, "environment"),
    ({"variables": {"TPU_LOAD_LIBRARY": "1"}}, None),
    ({"nodes": 0}, "device_nodes"),
    ({"nodes": 7}, "device_nodes"),
    ({"chips": 0, "nodes": 0}, "chips"),
    ({"hosts": 4}, "one_host"),
    ({"hosts": 4, "started": 4}, None),
    ({"libtpu": None, "chips": 0, "nodes": 0}, "frameworks"),
    ({"variables": {"PJRT_DEVICE": "CPU"}, "libtpu": None}, "environment"),
    ({"holder": 1537, "hosts": 4}, "holder"),
]
for changes, expected in CASES:
    machine = {**SOUND, **changes}
    found = first_link(machine)
    message = f"{changes or 'nothing wrong'}: found {found!r}"
    assert found == expected, f"{message}, expected {expected!r}"
print(len(CASES), "machines, each with its first link that fails")
