"""The servers that set-up makes environments for: how each is started, and how it is kept closed.

Each listens on 127.0.0.1 alone, and whoever starts one asks it for something without the token
first. What a person or an older tutorial wrote into a configuration of Jupyter does not count: the
options here outrank it, and the folder where Jupyter would look for it is another one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpustarter import locations
from tpustarter.checking import plan
from tpustarter.machine import host

HOST = "127.0.0.1"
"""The one address they listen on; there is no option for another."""
COLAB = "https://colab.research.google.com"
"""The page that may use a server made for it, and no other.
Source: https://research.google.com/colaboratory/local-runtimes.html (read 2026-11)."""
COUNT = "JAX_NUM_CPU_DEVICES"
PROGRAMS = Path(__file__).parent / "programs"
"""What proves them: each file runs in the environment of its server."""
_LEAVE_OUT = ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH")


@dataclass(frozen=True)
class Server:
    """What is started: a command that tells no secret, and the variables, which hold one."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    path: str
    """What a browser opens, after host and port; a token is in it where there is one."""
    closed: str | None
    """The page that must not be shown without the token; null for a server that has none.

    It is none that programs ask for, such as `/api/kernels`: Jupyter logs a warning for those.
    """


def jupyter_words(
    folder: Path, *, port: int = 0, root: Path | None = None, origin: str = ""
) -> tuple[str, ...]:
    """Return the command that starts Jupyter from an environment.

    Args:
        folder: The environment.
        port: Where it listens, and where that is taken it ends; 0 for any that is free.
        root: The folder whose notebooks it shows; null for the environment, which has none.
        origin: The page from elsewhere that may use it; empty for none.
    """
    options = {
        "ip": HOST,
        "port": str(port),
        "port_retries": "0",
        "open_browser": "False",
        "root_dir": str(root or folder),
        "allow_remote_access": "False",
        "disable_check_xsrf": "False",
        "allow_origin": origin,
        "allow_origin_pat": "",
        "allow_credentials": str(bool(origin)),
    }
    if os.geteuid() == 0 and locations.caller() is None:
        options["allow_root"] = "True"
    return (str(folder / "bin/jupyter-notebook"),
            "--Application.log_level=WARN",
            "--LanguageServerManager.autodetect=False",  # which would start npm, where there is one
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.news_url=None",  # its page would ask other hosts for news
            *(f"--ServerApp.{name}={value}" for name, value in options.items()))  # fmt: skip


def profiler_words(folder: Path, *, port: int = 0, root: Path | None = None) -> tuple[str, ...]:
    """Return the command that starts TensorBoard with XProf from an environment.

    Args:
        folder: The environment.
        port: Where it listens, and where that is taken it ends; 0 for any that is free.
        root: The folder whose traces it shows; null for one of its own, which its proof makes.
    """
    traces = root or folder / "share/trace"
    return (str(folder / "bin/tensorboard"), f"--logdir={traces}", f"--host={HOST}",
            f"--port={port}")  # fmt: skip


def server(what: str, folder: Path, machine: host.Machine, *, port: int, root: Path) -> Server:
    """Return what serves `jupyter`, `colab` or `profiler`; a token has 192 bits and is new."""
    variables = variables_of(folder, machine)
    if what == "profiler":
        return Server(profiler_words(folder, port=port, root=root), variables, "/#profile", None)
    token = secrets.token_urlsafe(24)
    origin = COLAB if what == "colab" else ""
    words = jupyter_words(folder, port=port, root=root, origin=origin)
    return Server(words, {**variables, "JUPYTER_TOKEN": token}, f"/tree?token={token}", "/tree")


def virtual_devices(machine: host.Machine) -> dict[str, str]:
    """Return the variable with which a kernel has as many CPU devices as a lesson has here.

    Empty where there is something better than a CPU, and where the user has said how many.
    """
    env, planned = machine.env, plan.make(machine)
    is_said = COUNT in env or "xla_force_host_platform_device_count" in env.get("XLA_FLAGS", "")
    return {COUNT: planned.env[COUNT]} if planned.virtual and not is_said else {}


def variables_of(folder: Path, machine: host.Machine) -> dict[str, str]:
    """Return the variables with which a server finds its files in the environment alone."""
    others = {name: value for name, value in machine.env.items()
              if name not in _LEAVE_OUT and not name.startswith("JUPYTER_")}  # fmt: skip
    return {
        **others,
        **virtual_devices(machine),
        "JUPYTER_CONFIG_DIR": str(folder / "etc/jupyter"),
        "JUPYTER_RUNTIME_DIR": str(folder / "share/jupyter/runtime"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
