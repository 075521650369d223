"""What a run will do on this machine, decided before anything is started, and why.

DESIGN: the table "what happens on each machine" is this module; its rows are golden tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpustarter.checking import interpreters
from tpustarter.checking.results import Blocked
from tpustarter.checking.words import NOT_KNOWN, count
from tpustarter.machine import frameworks, generations, host, pip
from tpustarter.problem import ExitCode
from tpustarter.redact import Redactor

VIRTUAL_DEVICES = 8
"""CPU devices pretended where there is no accelerator: as many as most newcomers' TPUs have."""

_FORCED_COUNT = re.compile(r"--xla_force_host_platform_device_count=\S*")


@dataclass(frozen=True)
class Plan:
    """How frameworks will be started here, or why they will not."""

    platform: str
    """`tpu`, `gpu` or `cpu`, or what the user's own JAX_PLATFORMS names first."""
    devices: int | None
    """Devices this process should see; null where the machine does not say."""
    virtual: bool
    generation: str | None
    """TPU generation of this machine, if any."""
    chips: int
    """TPU chips on this machine's PCI bus."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    """Variables the probe sets for every framework; those of JAX too, for other frameworks call it
    for kernels of their own."""
    unset: tuple[str, ...] = ()
    """Variables the probe removes."""
    blocked: Blocked | None = None
    unknown: tuple[str, ...] = ()
    """Ids of Google's PCI devices here that may be TPUs this version does not know."""
    where: str = ""
    """The devices in words, such as `8 virtual CPU devices` or `TPU v6e, 8 chips`."""


def make(
    machine: host.Machine,
    *,
    require: str | None = None,
    devices: int | None = None,
    this_host: bool = False,
    gpu_plugin: bool = False,
) -> Plan:
    """Return the plan for this machine.

    Args:
        machine: Where to look.
        require: The platform the user insists on, `tpu` or `gpu`.
        devices: Number of virtual CPU devices asked for; on a machine with chips this is what
            turns them on.
        this_host: Run on this host of a slice alone.
        gpu_plugin: Whether JAX in the Python under test would use a GPU by itself.
    """
    chips, unknown = len(host.chips(machine)), tuple(host.unknown_google_devices(machine))
    jax_platforms = machine.env.get("JAX_PLATFORMS", "").strip()
    platform = _platform(machine, jax_platforms, require, devices, gpu_plugin=gpu_plugin)
    env, unset = _environment(machine, platform, jax_platforms)
    if platform == "tpu":
        return _on_tpu(machine, env, unset, require=require, this_host=this_host)
    virtual = False
    if platform == "cpu":
        # On a machine with chips a CPU run is one device, unless virtual ones were asked for.
        devices = devices or (1 if chips else VIRTUAL_DEVICES)
        virtual = devices > 1
        env["JAX_NUM_CPU_DEVICES"] = str(devices)
    blocked = None
    if require and platform != require:
        what = f"`--require {require}` was given, and this run would use {platform}"
        hint = "`tpustarter check 'host.*' -v`"
        if unknown and not chips and require == "tpu":
            what += f"; {NOT_KNOWN}, {host.unknown_text(unknown)}"
            hint = "`JAX_PLATFORMS=tpu,cpu tpustarter check --require tpu` lets JAX decide"
        blocked = Blocked(what, ExitCode.NO_DEVICE, hint)
    generation = host.generation(machine)
    where = "NVIDIA GPU" if platform == "gpu" else f"JAX_PLATFORMS={host.plain(jax_platforms, 40)}"
    if platform == "cpu" and devices:
        where = count(devices, "virtual CPU device" if virtual else "CPU device")
    name = generation.name if generation else None
    return Plan(platform, devices, virtual, name, chips, env, unset, blocked, unknown, where)


def _on_tpu(
    machine: host.Machine,
    env: dict[str, str],
    unset: tuple[str, ...],
    *,
    require: str | None,
    this_host: bool,
) -> Plan:
    metadata = host.metadata(machine)
    generation = host.generation(machine, metadata)
    shape = host.slice_shape(machine, metadata)
    blocked = None
    if shape.waits and this_host:
        env |= {
            "TPU_PROCESS_BOUNDS": "1,1,1",
            "TPU_CHIPS_PER_PROCESS_BOUNDS": shape.chips_per_host_bounds or "1,1,1",
            "TPU_SKIP_MDS_QUERY": "1",
        }
    elif shape.waits:
        blocked = _one_of_many(machine, metadata, shape)
    unknown = tuple(host.unknown_google_devices(machine))
    if host.platform_hint(machine) != "tpu" and require == "tpu" and not unknown:
        # JAX_PLATFORMS names a TPU that is not there; without --require JAX says so itself.
        blocked = Blocked(host.NO_TPU, ExitCode.NO_DEVICE)
    blocked = _busy(machine) or _denied(machine) or blocked
    chips = len(host.chips(machine))
    # Colab and Kaggle may hide PCI: the nodes are then the chips.
    total_chips = chips or host.reachable_chips(machine)
    devices = host.visible_devices(machine, metadata)
    title = generation.title.split(" (")[0] if generation else "TPU"  # without the code name
    if not sees_tpu(machine):
        jax_platforms = host.plain(machine.env.get("JAX_PLATFORMS", ""), 40)
        title = f"no TPU seen, JAX_PLATFORMS={jax_platforms}"
        if unknown:
            title = f"{NOT_KNOWN}, {host.unknown_text(unknown)}, JAX_PLATFORMS={jax_platforms}"
    return Plan(
        "tpu",
        devices,
        virtual=False,
        generation=generation.name if generation else None,
        chips=chips,
        env=env,
        unset=unset,
        blocked=blocked,
        unknown=unknown,
        where=f"{title}, {_chips(total_chips, devices, generation)}" if total_chips else title,
    )


def sees_tpu(machine: host.Machine) -> bool:
    """Return whether this machine shows a TPU; `JAX_PLATFORMS` may name one that is not there."""
    return bool(host.reachable_chips(machine)) or host.platform_hint(machine) == "tpu"


def _chips(total: int, devices: int | None, generation: generations.Generation | None) -> str:
    """Return the chips in words: how many there are, and how many this process reaches."""
    per_chip = generation.devices_per_chip if generation else None
    reached = devices // per_chip if per_chip and devices is not None else total
    return count(total, "chip") if reached == total else f"{reached} of {total} chips"


def _platform(
    machine: host.Machine,
    jax_platforms: str,
    require: str | None,
    devices: int | None,
    *,
    gpu_plugin: bool,
) -> str:
    if jax_platforms:  # the user's own choice is obeyed, and shown
        first = jax_platforms.split(",", maxsplit=1)[0].strip()
        return "gpu" if first in ("cuda", "rocm") else first
    if devices is not None:
        return "cpu"
    if host.platform_hint(machine) == "tpu":
        return "tpu"
    if host.nvidia(machine) and (require == "gpu" or gpu_plugin):
        return "gpu"
    return "cpu"


def _environment(
    machine: host.Machine, platform: str, jax_platforms: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what to set and what to remove so that exactly this platform is used."""
    platforms = frameworks.FRAMEWORKS["jax"].platforms
    env = {"JAX_PLATFORMS": jax_platforms} if jax_platforms else dict(platforms[platform])
    unset = [name for name in ("JAX_PLATFORM_NAME",) if name in machine.env]
    flags = machine.env.get("XLA_FLAGS", "")
    if _FORCED_COUNT.search(flags):  # JAX refuses this flag beside JAX_NUM_CPU_DEVICES
        env["XLA_FLAGS"] = _FORCED_COUNT.sub("", flags).strip()
    return env, tuple(unset)


def variables(plan: Plan, framework: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the probe sets for one framework beside the user's own."""
    own = frameworks.environment(framework, plan.platform, plan.devices, env)
    return {**own, **plan.env}


def run_env(plan: Plan, base: Mapping[str, str], folder: Path, framework: str) -> dict[str, str]:
    """Return the whole environment of a probe: the user's, with the plan's changes."""
    env = {name: value for name, value in base.items() if name not in plan.unset}
    return {**env, **variables(plan, framework, base), **own_folders(folder)}


def own_folders(folder: Path) -> dict[str, str]:
    """Return variables that keep logs and compiled programs inside the run's own folder."""
    return {
        "TPU_LOG_DIR": str(folder / "tpu_logs"),
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
    }


def _busy(machine: host.Machine) -> Blocked | None:
    holders = host.holders(machine)
    if holders:
        first = holders[0]
        age = f", since {host.age_text(first.age_s)}" if first.age_s is not None else ""
        what = f"the TPU is in use by pid {first.pid} ({first.user}: {first.command}{age})"
        hint = f"wait until it ends, or end it if it is yours: `kill {first.pid}`"
        return Blocked(Redactor(machine.env).text(what), ExitCode.BUSY, hint)
    lock = host.lock(machine)
    if lock.state != "live":
        return None
    owner = f"pid {lock.pid}" if lock.pid else "owner unknown: not visible to this user"
    return Blocked(
        f"the TPU is in use: a live process holds libtpu's lock ({owner})",
        ExitCode.BUSY,
        "`tpustarter check host.holder -v` shows what can be seen",
    )


def _denied(machine: host.Machine) -> Blocked | None:
    denied = [node for node in host.nodes(machine) if not (node.readable and node.writable)]
    if not denied:
        return None
    first = denied[0]
    return Blocked(
        f"no permission on `{first.path}` (owner {first.owner}, mode {first.mode}) for this user",
        ExitCode.DENIED,
        "`tpustarter check host.device_nodes -v` says which group or command gives access",
    )


def _one_of_many(machine: host.Machine, metadata: host.Metadata, shape: host.Slice) -> Blocked:
    worker = "one" if shape.worker is None else f"worker {shape.worker}"
    everywhere = host.all_workers_command("tpustarter check", machine, metadata)
    return Blocked(
        f"this is {worker} of {shape.hosts} hosts in a slice, and a framework started here alone "
        "waits for the others",
        ExitCode.INCONCLUSIVE,
        f"`{everywhere}`, or for this host alone `tpustarter check --this-host`",
    )


def without_framework(
    framework: str,
    python: str,
    installed: Iterable[str],
    others: Iterable[str],
    *,
    chips: int,
    asked: bool,
) -> Blocked:
    """Return why nothing of `framework` is started in a Python that lacks it, and what to do.

    Args:
        framework: Its import name.
        python: The Python under test, as a person would type it.
        installed: Import names of the frameworks it has.
        others: Other Pythons that have a framework, each as `path: name version`.
        chips: TPU chips on this machine.
        asked: Whether the user asked for something that needs it.
    """
    known = frameworks.FRAMEWORKS[framework]
    wheel = (known.tpu_wheel if chips else known.wheel).replace(" ", " and ")
    has_framework = any(name in interpreters.FRAMEWORKS for name in installed)
    another = _another(others, framework if has_framework else "")
    hint = another or f"`tpustarter setup {known.profile}` makes an environment with {wheel}"
    return Blocked(
        f"{framework} is not installed in {python}"
        if has_framework
        else f"no framework yet in {python}",
        ExitCode.NOTHING_VERIFIED,
        hint,
        "missing-resource" if asked else "not-applicable",
    )


def unusable(
    framework: str,
    python: str,
    installed: Mapping[str, str],
    others: Iterable[str],
    *,
    asked: bool,
    oldest: str = "",
) -> Blocked | None:
    """Return why nothing is started of a framework that is installed; null where it may be.

    Args:
        framework: Its import name.
        python: The Python under test, as a person would type it.
        installed: Versions by import name; that of jaxlib too.
        others: Other Pythons that have a framework, each as `path: name version`.
        asked: Whether the user asked for something that needs it.
        oldest: The oldest version that will do; empty for the oldest supported one.
    """
    version = installed[framework]
    if frameworks.is_too_old(framework, version, oldest):
        known = frameworks.FRAMEWORKS[framework]
        oldest = oldest or known.oldest
        what = f"{framework} {version} in {python} is too old, {oldest} or newer is needed"
        hint = f"`tpustarter setup {known.profile}` makes an environment with a newer one"
    elif framework == "jax" and "jaxlib" not in installed:
        what = f"jax {version} in {python} has no jaxlib beside it, and cannot be imported"
        hint = "`tpustarter check host.frameworks` says what to install"
    elif lacking := frameworks.lacking(framework, installed):
        what = f"{framework} {version} in {python} has no {' or '.join(lacking)} beside it"
        hint = f"`tpustarter setup {frameworks.FRAMEWORKS[framework].profile}` makes an environment"
        hint += " with both"
    else:
        return None
    reason = "missing-resource" if asked else "not-applicable"
    return Blocked(what, ExitCode.NOTHING_VERIFIED, _another(others, framework) or hint, reason)


def _another(others: Iterable[str], framework: str = "") -> str:
    """Return the command that tests the first of other Pythons with a framework, else with any."""
    for interpreter in others:
        path, _, names = interpreter.partition(": ")
        for name in names.split(", "):
            if name.startswith(f"{framework} ") or not framework:
                return f"`tpustarter check --python {path}` tests one that has {name}"
    return ""


def wrong_platform(framework: str, plan: Plan) -> Blocked | None:
    """Return why nothing of a framework is started where it has no support for the devices."""
    if plan.platform != "gpu" or "gpu" in frameworks.FRAMEWORKS[framework].platforms:
        return None
    return Blocked(
        f"{framework} is tested on TPUs and CPUs, and this run would use a GPU",
        ExitCode.NOTHING_VERIFIED,
        "`--devices 8` tests it on virtual CPU devices",
        "not-applicable",
    )


def without_packages(missing: Sequence[str], python: str) -> Blocked:
    """Return why no block of a lesson is run in a Python that lacks packages, and what to do."""
    names = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
    install = pip.command(f"{python} -m pip install {' '.join(missing)}")
    return Blocked(
        f"{names} {'are' if missing[1:] else 'is'} not installed in {python}",
        ExitCode.NOTHING_VERIFIED,
        f"`{install}` adds what this lesson needs",
    )


def host_of(plan: Plan) -> dict[str, Any]:
    """Return what a document says of the host."""
    facts: dict[str, Any] = {"chips": plan.chips, "generation": plan.generation}
    return {**facts, "unknown_google_devices": [*plan.unknown]} if plan.unknown else facts


def target_of(plan: Plan, machine: host.Machine) -> dict[str, Any]:
    """Return the fields of the probe's `Target`."""
    return {
        "platform": plan.platform,
        "devices": plan.devices,
        "generation": plan.generation,
        "virtual": plan.virtual,
        "root": str(machine.root),
        "uid": machine.uid,
    }
