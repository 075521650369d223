"""The number counts cores, so how many chips are they? The first number of
each row in `GENERATIONS` says how many cores a chip has.

`divmod(a, b)` returns the quotient and what is left over. If something is
left, the name is wrong.

Up to `largest` chips are one host. More are a slice, in which each host has
4 chips, also on v5e and v6e. For `v5e-32`, replace the name first.

Learned: A name counts cores, and chips, devices and hosts follow from the
generation.
"""

# generation: (cores in a chip, devices in a chip, chips in one machine)
GENERATIONS = {
    "v2": (2, 2, 4),
    "v3": (2, 2, 4),
    "v4": (2, 1, 4),
    "v5p": (2, 1, 4),
    "v5litepod": (1, 1, 8),
    "v6e": (1, 1, 8),
    "tpu7x": (2, 2, 4),
}


def read(name):
    """Return (chips, devices, hosts)."""
    generation, number = name.replace("v5e-", "v5litepod-").rsplit("-", 1)
    cores, devices, largest = GENERATIONS[generation]
    chips, left = divmod(int(number), cores)
    if left:
        raise ValueError(f"{name} is no whole number of chips")
    hosts = 1 if chips <= largest else chips // 4
    return chips, chips * devices, hosts
