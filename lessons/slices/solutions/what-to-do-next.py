"""Which question comes first: the state, or whether the work is done? What
would a done job with the state ACTIVE get from the version as shipped?

If it is done, the answer depends only on whether something is still there:
`"stop" if state is None else "delete"`.

After that comes `wait`, and `create` for None and what has ended, if fewer
than 20 were created. Everything else is `stop`.

Learned: A program that creates machines needs an end for every case, also for
states that it does not know.
"""

WAITING = {"ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"}
ENDED = {"SUSPENDED", "FAILED"}


def next_action(state, is_done, created):
    """Return `wait`, `create`, `delete` or `stop`."""
    if is_done:
        return "stop" if state is None else "delete"
    if state in WAITING:
        return "wait"
    if created < 20 and (state is None or state in ENDED):
        return "create"
    return "stop"
