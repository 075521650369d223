"""Transparent huge pages suit this TPU."""

from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint, NoAnswer
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "trouble/hangs-and-slowness"
SOURCE = "https://github.com/jax-ml/jax/blob/main/jax/_src/cloud_tpu_init.py"
OPTIONAL = True

SETTING = "/sys/kernel/mm/transparent_hugepage/enabled"
NOT_NEEDED = ("v2", "v3", "v4", "v5p")
"""JAX 0.12.0.1 asks for it on v5e and on v6e and later (read 2026-11)."""


def run(machine: host.Machine | None = None):
    """Read the kernel's setting."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    generation = host.find_generation(machine)
    text = host.clean_text(machine.read_text(SETTING) or "", 40)
    needed = generation is not None and generation.name not in NOT_NEEDED
    always = text.startswith("[always]")
    yield Finding(
        code="HOST-HUGE-PAGES",
        name="transparent huge pages",
        verdict="ok" if always else "warn" if needed and text else "info",
        found=text or "unknown, because this kernel does not report it",
        expected="[always]" if needed else None,
        hint=Hint.run(f'sudo sh -c "echo always > {SETTING}"', ", and repeat it after each restart")
        if needed and text and not always
        else None,
    )
    if needed and not text:
        raise NoAnswer("this kernel does not report the setting")
