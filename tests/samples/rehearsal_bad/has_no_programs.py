"""It has functions, and none of them is called `programs`."""


def step(x):
    return x


def programs_of_mine(devices):
    return []
