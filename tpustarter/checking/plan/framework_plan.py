"""The plan of a run on this machine, made before anything is started, with its reasons.

The table "what happens on each machine" in DESIGN is implemented here; its rows are golden tests.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.checking.results.no_tpu_reason import NOT_KNOWN
from tpustarter.checking.results.results import BlockedFramework, HostFields
from tpustarter.core.problem import ExitCode
from tpustarter.core.redact import Redactor
from tpustarter.machine import frameworks, generations, host, pip_command
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.probe.commands import ProbeTargetFields
from tpustarter.probe.finding import Hint
from tpustarter.running import run_folder
from tpustarter.text import phrases

VIRTUAL_DEVICES = 8
"""Number of CPU devices simulated without an accelerator: as many as most newcomers' TPUs have."""

_FORCED_COUNT = re.compile(r"--xla_force_host_platform_device_count=\S*")


@dataclass(frozen=True)
class AlternativePython:
    """A Python that could be tested instead of the one under test."""

    shown_path: str
    """Its path as the user would type it."""
    frameworks: Mapping[str, str]
    """Versions of its frameworks, keyed by import name."""


@dataclass(frozen=True)
class FrameworkPlan:
    """The devices and environment variables for starting frameworks, or the reason not to."""

    platform: str
    """`tpu`, `gpu` or `cpu`, or the first name in the user's JAX_PLATFORMS."""
    devices: int | None
    """Number of devices that this process should see; None if unknown."""
    virtual: bool
    generation: str | None
    """This machine's TPU generation, if any."""
    chips: int
    """Number of TPU chips on this machine's PCI bus."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    """Variables that the probe sets for every framework. JAX's are included, because other
    frameworks call JAX for their own kernels.
    """
    unset: tuple[str, ...] = ()
    """Variables that the probe removes."""
    blocked: BlockedFramework | None = None
    unknown: tuple[str, ...] = ()
    """PCI ids of Google devices that may be TPUs unknown to this version."""
    where_parts: tuple[str, ...] = ()
    """The devices as text, most important part first: `TPU v6e`, `8 chips`."""

    @property
    def devices_text(self) -> str:
        """The devices as text, such as `8 virtual CPU devices` or `TPU v6e, 8 chips`."""
        return ", ".join(self.where_parts)


def make_plan(
    machine: host.Machine,
    *,
    require: str | None = None,
    devices: int | None = None,
    this_host: bool = False,
    all_hosts: bool = False,
    gpu_plugin: bool = False,
) -> FrameworkPlan:
    """Return the plan of a run on this machine: its platform, devices and hosts.

    Args:
        machine: The machine to examine.
        require: The platform that the user requires, `tpu` or `gpu`.
        devices: Number of virtual CPU devices; a machine with chips uses them only if this is
            given.
        this_host: True to use only this host of a slice.
        all_hosts: True if all hosts of the slice take part; one alone would wait for the others.
        gpu_plugin: True if JAX in the Python under test uses a GPU by default.
    """
    chips, unknown = len(host.list_chips(machine)), tuple(host.unknown_google_devices(machine))
    jax_platforms = machine.env.get("JAX_PLATFORMS", "").strip()
    platform = _platform(machine, jax_platforms, require, devices, gpu_plugin=gpu_plugin)
    env, unset = _environment(machine, platform, jax_platforms)
    if platform == "tpu":
        return _on_tpu(
            machine, env, unset, require=require, this_host=this_host, all_hosts=all_hosts
        )
    virtual = False
    if platform == "cpu":
        # On a machine with chips, a CPU run has one device unless virtual ones were requested.
        devices = devices or (1 if chips else VIRTUAL_DEVICES)
        virtual = devices > 1
        env["JAX_NUM_CPU_DEVICES"] = str(devices)
    blocked = _other_platform(machine, require, platform) if require else None
    generation = host.find_generation(machine)
    where = (
        "NVIDIA GPU" if platform == "gpu" else f"JAX_PLATFORMS={host.clean_text(jax_platforms, 40)}"
    )
    if platform == "cpu" and devices:
        where = phrases.format_count(devices, "virtual CPU device" if virtual else "CPU device")
    name = generation.name if generation else None
    return FrameworkPlan(
        platform, devices, virtual, name, chips, env, unset, blocked, unknown, (where,)
    )


def _other_platform(machine: host.Machine, require: str, platform: str) -> BlockedFramework | None:
    if platform == require:
        return None
    what = f"`--require {require}` was given, and this run would use {platform}"
    hint = "`tpustarter check 'host.*' -v`"
    unknown = tuple(host.unknown_google_devices(machine))
    if unknown and not host.list_chips(machine) and require == "tpu":
        what += f"; {NOT_KNOWN}, {host.describe_unknown_devices(unknown)}"
        hint = "`JAX_PLATFORMS=tpu,cpu tpustarter check --require tpu` lets JAX decide"
    return BlockedFramework(what, ExitCode.NO_DEVICE, hint)


def _on_tpu(
    machine: host.Machine,
    env: dict[str, str],
    unset: tuple[str, ...],
    *,
    require: str | None,
    this_host: bool,
    all_hosts: bool,
) -> FrameworkPlan:
    metadata = host.metadata(machine)
    generation = host.find_generation(machine, metadata)
    shape = host.find_slice(machine, metadata)
    blocked = None
    if shape.waits and this_host:
        env |= {
            "TPU_PROCESS_BOUNDS": "1,1,1",
            "TPU_CHIPS_PER_PROCESS_BOUNDS": shape.chips_per_host_bounds or "1,1,1",
            "TPU_SKIP_MDS_QUERY": "1",
        }
    elif shape.waits and not all_hosts:
        blocked = _one_of_many(machine, metadata, shape)
    unknown = tuple(host.unknown_google_devices(machine))
    if host.guess_platform(machine) != "tpu" and require == "tpu" and not unknown:
        # JAX_PLATFORMS names a missing TPU; without --require, JAX reports that itself.
        blocked = BlockedFramework(host.NO_TPU, ExitCode.NO_DEVICE)
    blocked = _busy(machine) or _denied(machine) or blocked
    chips = len(host.list_chips(machine))
    # Colab and Kaggle may hide PCI, so device nodes are counted as chips instead.
    total_chips = chips or host.count_reachable_chips(machine)
    devices = host.count_visible_devices(machine, metadata)
    where = (generation.title.split(" (")[0] if generation else "TPU",)  # without the code name
    if not has_tpu(machine):
        jax_platforms = host.clean_text(machine.env.get("JAX_PLATFORMS", ""), 40)
        named = (NOT_KNOWN, host.describe_unknown_devices(unknown)) if unknown else ("no TPU seen",)
        where = (*named, f"JAX_PLATFORMS={jax_platforms}")
    if total_chips:
        where = (*where, _chips(total_chips, devices, generation))
    return FrameworkPlan(
        "tpu",
        devices,
        virtual=False,
        generation=generation.name if generation else None,
        chips=chips,
        env=env,
        unset=unset,
        blocked=blocked,
        unknown=unknown,
        where_parts=where,
    )


def has_tpu(machine: host.Machine) -> bool:
    """Return whether this machine has a TPU, regardless of `JAX_PLATFORMS`."""
    return bool(host.count_reachable_chips(machine)) or host.guess_platform(machine) == "tpu"


def _chips(total: int, devices: int | None, generation: generations.Generation | None) -> str:
    per_chip = generation.devices_per_chip if generation else None
    reached = devices // per_chip if per_chip and devices is not None else total
    return (
        phrases.format_count(total, "chip") if reached == total else f"{reached} of {total} chips"
    )


def _platform(
    machine: host.Machine,
    jax_platforms: str,
    require: str | None,
    devices: int | None,
    *,
    gpu_plugin: bool,
) -> str:
    if jax_platforms:  # the user's own choice is obeyed and shown
        first = jax_platforms.split(",", maxsplit=1)[0].strip()
        return "gpu" if first in ("cuda", "rocm") else first
    if devices is not None:
        return "cpu"
    if host.guess_platform(machine) == "tpu":
        return "tpu"
    if host.has_nvidia_gpu(machine) and (require == "gpu" or gpu_plugin):
        return "gpu"
    return "cpu"


def _environment(
    machine: host.Machine, platform: str, jax_platforms: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    platforms = frameworks.FRAMEWORKS["jax"].platforms
    env = {"JAX_PLATFORMS": jax_platforms} if jax_platforms else dict(platforms[platform])
    unset = [name for name in ("JAX_PLATFORM_NAME",) if name in machine.env]
    flags = machine.env.get("XLA_FLAGS", "")
    if _FORCED_COUNT.search(flags):  # JAX refuses this flag with JAX_NUM_CPU_DEVICES
        env["XLA_FLAGS"] = _FORCED_COUNT.sub("", flags).strip()
    return env, tuple(unset)


def framework_variables(
    plan: FrameworkPlan, framework: str, env: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that the probe sets for a framework, in addition to the user's own."""
    own = frameworks.platform_variables(framework, plan.platform, plan.devices, env)
    return {**own, **plan.env}


def make_probe_environment(
    plan: FrameworkPlan, base: Mapping[str, str], folder: Path, framework: str
) -> dict[str, str]:
    """Return a probe's whole environment: the user's, with the plan's changes."""
    env = {name: value for name, value in base.items() if name not in plan.unset}
    return {**env, **framework_variables(plan, framework, base), **run_folder_variables(folder)}


def run_folder_variables(folder: Path) -> dict[str, str]:
    """Return variables that keep logs, compiled programs and temporary files in a folder."""
    return {
        "TMPDIR": str(run_folder.make_temporary_folder(folder)),
        "TPU_LOG_DIR": str(folder / "tpu_logs"),
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
    }


def _busy(machine: host.Machine) -> BlockedFramework | None:
    holders = host.list_tpu_processes(machine)
    if holders:
        first = holders[0]
        age = f", for {phrases.format_duration(first.age_s)}" if first.age_s is not None else ""
        what = f"the TPU is in use by pid {first.pid} ({first.user}: {first.command}{age})"
        hint = f"wait until it ends, or end it if it is yours: `kill {first.pid}`"
        if first.is_notebook_kernel:
            hint = "restart the kernel of that notebook, and check before it imports a framework"
        return BlockedFramework(Redactor(machine.env).redact_text(what), ExitCode.BUSY, hint)
    lock = host.read_libtpu_lock(machine)
    if lock.state != "live":
        return None
    owner = f"pid {lock.pid}" if lock.pid else "owner unknown: not visible to this user"
    return BlockedFramework(
        f"the TPU is in use: a live process holds libtpu's lock ({owner})",
        ExitCode.BUSY,
        "`tpustarter check host.holder -v` shows what can be seen",
    )


def _denied(machine: host.Machine) -> BlockedFramework | None:
    denied = [
        node for node in host.list_device_nodes(machine) if not (node.readable and node.writable)
    ]
    if not denied:
        return None
    first = denied[0]
    return BlockedFramework(
        f"no permission on `{first.path}` (owner {first.owner}, mode {first.mode}) for this user",
        ExitCode.DENIED,
        "`tpustarter check host.device_nodes -v` says which group or command gives access",
    )


def _one_of_many(
    machine: host.Machine, metadata: host.Metadata, shape: host.Slice
) -> BlockedFramework:
    worker = "one" if shape.worker is None else f"worker {shape.worker}"
    everywhere = host.all_workers_command("tpustarter check --all-hosts", machine, metadata)
    return BlockedFramework(
        f"this is {worker} of {shape.hosts} hosts in a slice, and a framework started here alone "
        "waits for the others",
        ExitCode.INCONCLUSIVE,
        f"`{everywhere}`, or for this host alone `tpustarter check --this-host`",
    )


def explain_missing_framework(
    framework: str,
    python: str,
    installed: Iterable[str],
    others: Iterable[AlternativePython],
    *,
    chips: int,
    asked: bool,
) -> BlockedFramework:
    """Return the reason and hint for a framework that is missing from the Python under test.

    Args:
        framework: Its import name.
        python: The Python under test, as the user would type it.
        installed: Import names of the installed frameworks.
        others: Other Pythons that have a framework.
        chips: Number of TPU chips on this machine.
        asked: True if the user asked for something that needs it.
    """
    known = frameworks.FRAMEWORKS[framework]
    wheel = phrases.join_words((known.tpu_wheel if chips else known.wheel).split())
    has_framework = any(name in frameworks.FRAMEWORKS for name in installed)
    another = _other_python(others, framework if has_framework else "")
    text = f"`tpustarter setup {known.profile}` makes an environment with {wheel}"
    hint = another or Hint(text, setup=known.profile)
    return BlockedFramework(
        f"{framework} is not installed in {python}"
        if has_framework
        else f"no framework yet in {python}",
        ExitCode.NOTHING_VERIFIED,
        hint,
        "missing-resource" if asked else "not-applicable",
    )


def explain_unusable_framework(
    framework: str,
    python: str,
    installed: Mapping[str, str],
    others: Iterable[AlternativePython],
    *,
    asked: bool,
    oldest: str = "",
) -> BlockedFramework | None:
    """Return the reason why an installed framework is not started, or None if it can be.

    Args:
        framework: Its import name.
        python: The Python under test, as the user would type it.
        installed: Versions by import name, including jaxlib's.
        others: Other Pythons that have a framework.
        asked: True if the user asked for something that needs it.
        oldest: The oldest acceptable version; empty for the oldest supported one.
    """
    version = installed[framework]
    if frameworks.is_too_old(framework, version, oldest):
        known = frameworks.FRAMEWORKS[framework]
        oldest = oldest or known.oldest
        what = f"{framework} {version} in {python} is too old, {oldest} or newer is needed"
        hint = f"`tpustarter setup {known.profile}` makes an environment with a newer one"
        hint = Hint(hint, setup=known.profile)
    elif framework == "jax" and "jaxlib" not in installed:
        what = f"jax {version} in {python} has no jaxlib beside it, and cannot be imported"
        hint = "`tpustarter check host.frameworks` says what to install"
    elif lacking := frameworks.list_missing_frameworks(framework, installed):
        names = phrases.join_words(lacking, "or")
        what = f"{framework} {version} in {python} has no {names} beside it"
        profile = frameworks.FRAMEWORKS[framework].profile
        hint = f"`tpustarter setup {profile}` makes an environment with both"
        hint = Hint(hint, setup=profile)
    else:
        return None
    reason = "missing-resource" if asked else "not-applicable"
    hint = _other_python(others, framework) or hint
    return BlockedFramework(what, ExitCode.NOTHING_VERIFIED, hint, reason)


def _other_python(others: Iterable[AlternativePython], framework: str = "") -> str:
    for python in others:
        for name, version in python.frameworks.items():
            if framework in ("", name):
                command = f"tpustarter check --python {python.shown_path}"
                return f"`{command}` tests one that has {name} {version}"
    return ""


def explain_wrong_platform(framework: str, plan: FrameworkPlan) -> BlockedFramework | None:
    """Return the reason why a framework cannot run on the planned devices, or None if it can."""
    if plan.platform != "gpu" or "gpu" in frameworks.FRAMEWORKS[framework].platforms:
        return None
    return BlockedFramework(
        f"{framework} is tested on TPUs and CPUs, and this run would use a GPU",
        ExitCode.NOTHING_VERIFIED,
        "`--devices 8` tests it on virtual CPU devices",
        "not-applicable",
    )


def explain_missing_packages(missing: Sequence[str], python: str) -> BlockedFramework:
    """Return the reason and hint for a lesson's packages that are missing from the Python."""
    wanted = shlex.join(map(interpreters.format_requirement, missing))
    install = pip_command.format_pip_command(f"{python} -m pip install {wanted}")
    are = phrases.choose_plural(len(missing), "is", "are")
    return BlockedFramework(
        f"{phrases.join_words(missing)} {are} not installed in {python}",
        ExitCode.NOTHING_VERIFIED,
        f"`{install}` adds what this lesson needs",
    )


def make_host_fields(plan: FrameworkPlan, machine: host.Machine) -> HostFields:
    """Return the fields that describe the host in a document."""
    facts: HostFields = {"chips": plan.chips, "generation": plan.generation}
    if plan.unknown:
        facts["unknown_google_devices"] = [*plan.unknown]
    if service := find_notebook_service(machine.env):
        facts["notebook"] = service.name
    return facts


def make_target(plan: FrameworkPlan, machine: host.Machine) -> ProbeTargetFields:
    """Return the fields of the probe's `Target`."""
    return {
        "platform": plan.platform,
        "devices": plan.devices,
        "generation": plan.generation,
        "virtual": plan.virtual,
        "root": str(machine.root),
        "uid": machine.uid,
    }
