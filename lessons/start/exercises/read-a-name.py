"""Say what a TPU is made of, from its name.

`read` gets a name such as `v5p-128` and returns the chips, the devices that
JAX shows on all hosts together, and the hosts. The number in a name counts
cores. A machine holds up to 4 chips, or up to 8 of v5e and v6e, and in a
slice of several machines each has 4. People also write `v5e-8` for
`v5litepod-8`. A number that is no whole number of chips raises ValueError.
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
    generation, number = name.rsplit("-", 1)
    cores, devices, largest = GENERATIONS[generation]
    chips = int(number)  # your code here
    hosts = chips // largest  # and here
    return chips, chips * devices, hosts


# Judged below: leave this part as it is.

CASES = {
    "v6e-8": (8, 8, 1),
    "v6e-1": (1, 1, 1),
    "v4-8": (4, 4, 1),
    "v3-8": (4, 8, 1),
    "tpu7x-8": (4, 8, 1),
    "v5p-128": (64, 64, 16),
    "v5litepod-16": (16, 16, 4),
    "v5e-32": (32, 32, 8),
    "tpu7x-32": (16, 32, 4),
}
for name, expected in CASES.items():
    try:
        found = read(name)
    except (KeyError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
    message = f"{name}: found {found}, expected {expected}"
    message += ", which are its chips, devices and hosts"
    assert found == expected, message
refused = False
try:
    read("v4-7")
except ValueError:
    refused = True
assert refused, "v4-7 would be three chips and a half: raise ValueError"
print("chips, devices and hosts of", len(CASES), "names")
