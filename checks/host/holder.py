"""No visible process is using the TPU."""

from tpustarter.checks.host import _holders, _locks
from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"chips": 1}
TIMEOUT_S = 20
ESTIMATE_S = 0.1
LESSON = "trouble/who-has-my-tpu"
SOURCE = "https://github.com/jax-ml/jax/issues/10192"

LOCK = host.LOCK_FILE


def run(machine: host.Machine | None = None):
    """List the processes with a node open, and judge the state of the lock file."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    holders = host.list_tpu_processes(machine)
    for holder in holders:
        yield Finding(
            code="HOST-HOLDER-PROCESS",
            name="a process is using the TPU",
            verdict="warn",
            found=_holders.who(holder),
            expected="nobody",
            entity=f"pid:{holder.pid}",
            hint=_holders.end_hint(holder),
        )
    if not holders:
        all_seen = host.can_read_every_process(machine) and not host.detect_container(machine)
        yield Finding(
            code="HOST-HOLDER-NOBODY",
            name="processes using the TPU",
            verdict="ok" if all_seen else "info",
            found="nobody" if all_seen else "none that this user can see",
            hint=None
            if all_seen
            else Hint.see(_holders.lsof(machine), "on the host shows every user's processes"),
        )
    yield _lock_finding(machine, someone=bool(holders))


def _lock_finding(machine: host.Machine, *, someone: bool) -> Finding:
    lock = host.read_libtpu_lock(machine)
    code, name = "HOST-HOLDER-LOCK", "libtpu's lock file"
    if lock.state == "absent":
        return Finding(code, name, "ok", "absent", entity=LOCK)
    if lock.state == "stale":
        text = "left behind and held by no process, which is harmless"
        return Finding(code, name, "info", text, entity=LOCK)
    if lock.state == "live":
        process = host.read_process(machine, lock.pid) if lock.pid else None
        who = _holders.who(process) if process else "a process that this user cannot see"
        hint = (
            _holders.end_hint(process)
            if process
            else Hint.see(_holders.lsof(machine), "shows which process")
        )
        return Finding(code, f"holder of {name}", "warn", who, "nobody", None, lock.path, hint)
    unused = _holders.lock_unused(machine)
    actual, hint = _locks.found_and_hint(machine, lock)
    return Finding(
        code=code,
        name=name
        if unused is None
        else f"{name}, which libtpu doesn't use because {unused} is set",
        verdict="info" if unused else "warn" if someone or _locks.goes_elsewhere() else "fail",
        found=actual,
        expected="none, or one that this user can open",
        entity=lock.path,
        hint=hint,
    )
