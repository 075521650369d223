"""Facts about software and settings: this program, the Python under test, packages, variables.

Files are read, and nothing is started. A variable's value is reported only if it has the form of a
word, a number or a flag; of all others, only the name is reported.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tpustarter.checking.plan.interpreters import read_python_version
from tpustarter.core.json_values import as_object
from tpustarter.machine import frameworks
from tpustarter.report.clean.allowed_fields import (
    choice_rule,
    clean_number,
    clean_version,
    list_rule,
    mapping_rule,
    pattern_rule,
    pseudonymize_path,
    rows_rule,
)
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext
from tpustarter.version import __version__

PACKAGES: tuple[str, ...] = (
    *frameworks.DISTRIBUTIONS,
    "ml_dtypes",
    "scipy",
    "flax",
    "optax",
    "orbax-checkpoint",
    "torchax",
    "accelerate",
    "transformers",
    "jax_cuda12_plugin",
    "jax_cuda13_plugin",
)
"""Distributions whose versions are reported."""
INSTALLERS = ("pip", "uv", "conda", "poetry", "apt")
OTHER_LIBTPU = ("/lib/libtpu.so", "/usr/lib/libtpu.so", "/usr/local/lib/libtpu.so")
"""Paths of libtpu in images of TPU VMs, from which some frameworks load it."""
_WORD = r"[A-Za-z0-9_,.:-]{1,40}"
_SWITCH = r"(?i)[01]|true|false|yes|no|on|off"
_COUNTS = r"\d{1,5}(,\d{1,5}){0,63}"
VARIABLES: Mapping[str, str] = {
    "JAX_PLATFORMS": r"(tpu|cpu|gpu|cuda|rocm|METAL|proxy)(,(tpu|cpu|gpu|cuda|rocm))*",
    "JAX_PLATFORM_NAME": r"tpu|cpu|gpu|cuda|rocm",
    "PJRT_DEVICE": r"(?i)tpu|cpu|gpu|cuda|neuron",
    "TPU_ACCELERATOR_TYPE": r"(v\d[a-z]*(litepod)?|tpu\w{1,4}|ct\w{1,8}-\w{2,12})-\d{1,5}\w?",
    "JAX_DEFAULT_MATMUL_PRECISION": r"[a-zA-Z0-9_]{1,32}",
    "JAX_TRACEBACK_FILTERING": r"off|auto|tracebackhide|remove_frames|quiet_remove_frames",
    "KUBERNETES_SERVICE_PORT": r"\d{1,5}",
    **dict.fromkeys(
        (
            "TPU_VISIBLE_CHIPS",
            "TPU_VISIBLE_DEVICES",
            "TPU_CHIPS_PER_PROCESS_BOUNDS",
            "TPU_PROCESS_BOUNDS",
            "TPU_CHIPS_PER_HOST_BOUNDS",
            "TPU_HOST_BOUNDS",
            "TPU_WORKER_ID",
            "CLOUD_TPU_TASK_ID",
            "TPU_PROCESS_PORT",
            "TPU_MIN_LOG_LEVEL",
            "TPU_STDERR_LOG_LEVEL",
            "TF_CPP_MIN_LOG_LEVEL",
            "TPU_MAX_LOG_SIZE_MB",
            "JAX_NUM_CPU_DEVICES",
            "CPU_NUM_DEVICES",
            "JAX_NUM_PROCESSES",
            "JAX_PROCESS_ID",
            "XLA_THREAD_POOL_SIZE",
            "MEGASCALE_NUM_SLICES",
            "MEGASCALE_SLICE_ID",
            "MEGASCALE_PORT",
            "OMP_NUM_THREADS",
        ),
        _COUNTS,
    ),
    **dict.fromkeys(
        (
            "TPU_SKIP_MDS_QUERY",
            "TPU_LOAD_LIBRARY",
            "ALLOW_MULTIPLE_LIBTPU_LOAD",
            "JAX_ENABLE_X64",
            "JAX_DISABLE_JIT",
            "JAX_DEBUG_NANS",
            "JAX_ENABLE_COMPILATION_CACHE",
            "COLAB_TPU_1VM",
            "JAX_THREEFRY_PARTITIONABLE",
            "JAX_TRANSFER_GUARD",
            "XLA_USE_BF16",
            "XLA_DOWNCAST_BF16",
            "XLA_USE_32BIT_LONG",
            "XLA_USE_SPMD",
            "XLA_PYTHON_CLIENT_PREALLOCATE",
            "PT_XLA_DEBUG",
            "ENABLE_PJRT_COMPATIBILITY",
            "TPU_MEGACORE",
            "PYTHONFAULTHANDLER",
        ),
        _SWITCH,
    ),
}
"""Variables by name, with the form of the values that are reported."""
FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables that contain flags; flag names are reported, and values if numbers or switches."""
NAMED_ONLY = (
    "TPU_NAME",
    "TPU_WORKER_HOSTNAMES",
    "TPU_PROCESS_ADDRESSES",
    "TPU_LIBRARY_PATH",
    "TPU_LOG_DIR",
    "PTXLA_TPU_LIBRARY_PATH",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_COORDINATOR_ADDRESS",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "MEGASCALE_COORDINATOR_ADDRESS",
    "XRT_TPU_CONFIG",
    "XLA_PERSISTENT_CACHE_PATH",
    "COLAB_TPU_ADDR",
    "KUBERNETES_SERVICE_HOST",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
)
"""Variables that matter but whose values name places; only their names are reported."""
_RELEVANT = re.compile(r"(?:TPU|JAX|XLA|PJRT|LIBTPU|MEGASCALE|TORCH_?TPU|PT_?XLA|XRT)_")
_FLAG = re.compile(
    r"--?(?P<name>(?:xla|tpu|megascale|2a886c8|jax|deepsea)_[a-z0-9_]{2,80})"
    r"(?:=(?P<value>\S*))?"
)
_PLAIN_VALUE = re.compile(r"-?\d{1,12}(\.\d{1,6})?|(?i:true|false|auto)|")
_BUILD_TEXT = re.compile(
    rb"Built on [A-Z][a-z]{2} +\d{1,2} +\d{4}[ 0-9:]{0,12}(?: \(\d{1,12}\))?"
    rb"(?: cl/\d{1,12})?"
)


def collect_program(_: ReportContext) -> dict[str, object]:
    """Return the versions of this program and its system."""
    release = dict(platform.freedesktop_os_release()) if sys.platform == "linux" else {}
    return {
        "tpustarter": __version__,
        "python": platform.python_version(),
        "system": release.get("PRETTY_NAME") or platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip() or None,
    }


def collect_python(context: ReportContext) -> dict[str, object]:
    """Return the Python under test, and the versions of its packages."""
    chosen = context.interpreter
    if chosen is None:
        raise CollectorUnanswered("there is no Python to test on this machine")
    prefix = chosen.path.parent.parent
    claimed = list_package_folders(prefix, context.machine.env)
    installed = {name: _parse_version(found[0]) for name, found in claimed.items()}
    context.shared.packages = installed
    origins = {
        name: _read_origin(claimed[name][0]) for name in frameworks.DISTRIBUTIONS if name in claimed
    }
    library = next(iter(prefix.glob("lib/python3*/site-packages/libtpu/libtpu.so")), None)
    return {
        "path": str(chosen.path),
        "why": chosen.why,
        "python_version": read_python_version(chosen.path),
        "packages": installed,
        "installed_by": {name: by for name, (by, _) in origins.items() if by},
        "not_from_an_index": {name: source for name, (_, source) in origins.items() if source},
        "hidden": [
            {"name": name, "version": _parse_version(other)}
            for name, found in claimed.items()
            for other in found[1:]
        ],
        "other_libtpu": [one for one in OTHER_LIBTPU if context.machine.path(one).is_file()],
        "libtpu_bytes": library.stat().st_size if library else None,
        "libtpu_build": _find_build_text(library) if library else None,
    }


def read_packages(prefix: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of known packages installed under a prefix, from their folder names."""
    return {
        name: _parse_version(found[0]) for name, found in list_package_folders(prefix, env).items()
    }


def list_package_folders(prefix: Path, env: Mapping[str, str]) -> dict[str, list[Path]]:
    """Return the `.dist-info` folders of each known package; Python uses the first."""
    folders = [
        *prefix.glob("lib/python3*/site-packages"),
        *prefix.glob("lib/python3*/dist-packages"),
    ]
    if prefix in (Path("/usr"), Path("/usr/local")):
        folders += Path(env.get("HOME", "/nonexistent")).glob(".local/lib/python3*/site-packages")
        folders += Path("/usr/local/lib").glob("python3*/dist-packages")
    found: dict[str, list[Path]] = {}
    for folder in dict.fromkeys(folders):
        for name in PACKAGES:
            spelt = name.replace("-", "[-_]")
            if claiming := sorted(folder.glob(f"{spelt}-*.dist-info")):
                found.setdefault(name, []).extend(claiming)
    return found


def _parse_version(claim: Path) -> str:
    return claim.name.removesuffix(".dist-info").split("-")[-1]


def _read_origin(claim: Path) -> tuple[str | None, str | None]:
    """Return a package's installer, and its origin if that is not an index.

    Source: packaging.python.org/en/latest/specifications/direct-url-data-structure (read 2026-11).
    """
    with contextlib.suppress(OSError, ValueError):
        by = (claim / "INSTALLER").read_bytes()[:40].decode("utf-8", "replace").strip().lower()
        by = by if by in INSTALLERS else "another installer"
        if not (claim / "direct_url.json").is_file():
            return by, None
        origin = as_object(json.loads((claim / "direct_url.json").read_bytes()[:65536]))
        if "vcs_info" in origin:
            return by, "a repository"
        if "dir_info" in origin:
            return by, "a folder"
        local = str(origin.get("url", "")).startswith("file:")
        return by, "a file" if local else "an address"
    return None, None


def _find_build_text(library: Path) -> str | None:
    """Return the `Built on ...` text in a libtpu, or None if it has none."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        position = data.find(b"Built on ")
        found = _BUILD_TEXT.match(data[position : position + 80]) if position >= 0 else None
    return found[0].decode().strip() if found else None


def collect_variables(context: ReportContext) -> dict[str, object]:
    """Return the environment variables that configure frameworks and devices."""
    env = context.machine.env
    values = {name: env[name] for name in VARIABLES if env.get(name)}
    shown = {name: value for name, value in values.items() if re.fullmatch(VARIABLES[name], value)}
    known = {*VARIABLES, *NAMED_ONLY, *FLAGS}
    return {
        "values": shown,
        "flags": [
            f"{name}: {flag}" for name in FLAGS for flag in list_redacted_flags(env.get(name, ""))
        ],
        "set": sorted(
            [name for name in NAMED_ONLY if env.get(name)]
            + [name for name in values if name not in shown]
        ),
        "others": sum(1 for name in env if _RELEVANT.match(name) and name not in known),
    }


def list_redacted_flags(text: str) -> list[str]:
    """Return the flags in a variable's value; values that could be private are hidden."""
    found: list[str] = []
    for match in _FLAG.finditer(text):
        value = match["value"]
        shown = "" if value is None else f"={value}" if _PLAIN_VALUE.fullmatch(value) else "=(set)"
        found.append(f"--{match['name']}{shown}")
    return found[:40]


def collect_limits(_: ReportContext) -> dict[str, object]:
    """Return the resource limits of a process on this machine."""
    import resource

    def soft(name: int) -> int | None:
        limit, _ = resource.getrlimit(name)
        return None if limit < 0 else limit

    return {
        "cpus": os.cpu_count(),
        "open_files": soft(resource.RLIMIT_NOFILE),
        "processes": soft(resource.RLIMIT_NPROC),
        "locked_memory_bytes": soft(resource.RLIMIT_MEMLOCK),
        "address_space_bytes": soft(resource.RLIMIT_AS),
    }


_SYSTEM = pattern_rule(r"[A-Za-z][\w .+/()-]{0,60}")
_REASONS = (
    "--python",
    "chosen in the settings",
    "active environment",
    "./.venv",
    "the environment setup made",
    "the Python tpustarter runs in",
    "python3 on PATH",
)

COLLECTORS = (
    Collector(
        "program",
        "This program and the system",
        collect_program,
        {
            "tpustarter": clean_version,
            "python": clean_version,
            "system": _SYSTEM,
            "kernel": pattern_rule(r"\d[\w.+~-]{0,60}"),
            "architecture": pattern_rule(r"[\w-]{2,20}"),
            "libc": pattern_rule(r"[a-z]+ [\d.]+"),
        },
    ),
    Collector(
        "python",
        "Python under test and its packages",
        collect_python,
        {
            "path": pseudonymize_path,
            "why": pattern_rule("|".join(map(re.escape, _REASONS))),
            "python_version": clean_version,
            "packages": mapping_rule(dict.fromkeys(PACKAGES, clean_version)),
            "libtpu_bytes": clean_number,
            "installed_by": mapping_rule(
                dict.fromkeys(
                    frameworks.DISTRIBUTIONS, choice_rule(*INSTALLERS, "another installer")
                )
            ),
            "not_from_an_index": mapping_rule(
                dict.fromkeys(
                    frameworks.DISTRIBUTIONS,
                    choice_rule("a repository", "a folder", "a file", "an address"),
                )
            ),
            "hidden": rows_rule({"name": choice_rule(*PACKAGES), "version": clean_version}),
            "other_libtpu": list_rule(choice_rule(*OTHER_LIBTPU)),
            "libtpu_build": pattern_rule(r"Built on [\w :()/]+"),
        },
        limit_s=15.0,
    ),
    Collector(
        "variables",
        "Environment variables",
        collect_variables,
        {
            "values": mapping_rule({name: pattern_rule(form) for name, form in VARIABLES.items()}),
            "flags": list_rule(
                pattern_rule(rf"(?:{'|'.join(FLAGS)}): --[a-z0-9_]+(=(?:\(set\)|[\w.-]*))?")
            ),
            "set": list_rule(pattern_rule("|".join({*NAMED_ONLY, *VARIABLES}))),
            "others": clean_number,
        },
    ),
    Collector(
        "limits",
        "Limits of a process",
        collect_limits,
        dict.fromkeys(
            ("cpus", "open_files", "processes", "locked_memory_bytes", "address_space_bytes"),
            clean_number,
        ),
    ),
)
