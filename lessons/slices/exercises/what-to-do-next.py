"""Decide what a supervisor does next.

`next_action` gets the state of the request, whether the training is done,
and how many machines were created already. It returns one of four words.
`wait` while the request or the machine is on its way or at work. `create`
if there is nothing (the state is None) or what there is has ended, which
is the case for SUSPENDED and FAILED. `delete` if the training is done and
something is still there. `stop` if the training is done and nothing is
there, if 20 machines were created, or if the state is one that you don't
know.
"""

WAITING = {"ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"}
ENDED = {"SUSPENDED", "FAILED"}


def next_action(state, is_done, created):
    """Return `wait`, `create`, `delete` or `stop`."""
    if state in WAITING:
        return "wait"
    return "create"  # your code here


# Judged below: leave this part as it is.


def judge(what, state, is_done, created, expected):
    found = next_action(state, is_done, created)
    message = f"{what}: found {found!r}, expected {expected!r}"
    assert found == expected, message


judge("at the beginning", None, False, 0, "create")
judge("in the queue", "WAITING_FOR_RESOURCES", False, 1, "wait")
judge("while it trains", "ACTIVE", False, 1, "wait")
judge("after a pre-emption", "SUSPENDED", False, 1, "create")
judge("after a failure", "FAILED", False, 3, "create")
judge("done, and the machine is on", "ACTIVE", True, 2, "delete")
judge("done while pre-empted", "SUSPENDED", True, 2, "delete")
judge("done and deleted", None, True, 2, "stop")
judge("the twentieth was pre-empted", "SUSPENDED", False, 20, "stop")
judge("the twentieth still trains", "ACTIVE", False, 20, "wait")
judge("an unknown state", "DELETING_SOON", False, 1, "stop")
judge("done, in an unknown state", "DELETING_SOON", True, 1, "delete")
print("it starts again, and it knows when to stop")
