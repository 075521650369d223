"""The servers that set-up creates environments for: their commands, variables and protection.

Each listens only on 127.0.0.1, and the program that starts one first sends a request without the
token. A user's own Jupyter configuration, or one from an older tutorial, has no effect, because the
options in this module override it, and Jupyter's configuration folder is another one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpustarter.checking.plan import framework_plan
from tpustarter.core import locations
from tpustarter.machine import host

HOST = "127.0.0.1"
"""The only address that they listen on; there is no option for another one."""
COLAB = "https://colab.research.google.com"
"""The only page that may use a server made for it. Source:
https://research.google.com/colaboratory/local-runtimes.html (read 2026-11)."""
COUNT = "JAX_NUM_CPU_DEVICES"
PROGRAMS = Path(__file__).parent / "programs"
"""Programs that prove the servers; each file runs in its server's environment."""
_LEAVE_OUT = ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH")


@dataclass(frozen=True)
class ServerCommand:
    """A server to start: a command without secrets, and the variables, which may hold one."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    path: str
    """The path that a browser opens on the server, with the token if there is one."""
    closed: str | None
    """The page that must not be shown without the token; None for a server that has none. It is not
    one that programs request, such as `/api/kernels`, because Jupyter logs a warning for those."""


def jupyter_command(
    folder: Path, *, port: int = 0, root: Path | None = None, origin: str = ""
) -> tuple[str, ...]:
    """Return the command that starts Jupyter from an environment.

    Args:
        folder: The environment.
        port: Port to listen on, where the server exits if it is taken; 0 for any free one.
        root: The folder whose notebooks it shows; None for the environment, which has none.
        origin: The external page that may use it; empty for none.
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
    if os.geteuid() == 0 and locations.find_sudo_caller() is None:
        options["allow_root"] = "True"
    return (
        str(folder / "bin/jupyter-notebook"),
        "--Application.log_level=WARN",
        "--LanguageServerManager.autodetect=False",  # otherwise it starts npm, if there is one
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",  # its page would request news from other hosts
        *(f"--ServerApp.{name}={value}" for name, value in options.items()),
    )


def profiler_command(folder: Path, *, port: int = 0, root: Path | None = None) -> tuple[str, ...]:
    """Return the command that starts TensorBoard with XProf from an environment.

    Args:
        folder: The environment.
        port: Port to listen on, where the server exits if it is taken; 0 for any free one.
        root: The folder whose traces it shows; None for its own, which the proof creates.
    """
    traces = root or folder / "share/trace"
    return (
        str(folder / "bin/tensorboard"),
        f"--logdir={traces}",
        f"--host={HOST}",
        f"--port={port}",
    )


def make_server_command(
    what: str, folder: Path, machine: host.Machine, *, port: int, root: Path
) -> ServerCommand:
    """Return a `jupyter`, `colab` or `profiler` server; notebooks get a fresh token of 192 bits."""
    variables = list_variables(folder, machine)
    if what == "profiler":
        return ServerCommand(
            profiler_command(folder, port=port, root=root), variables, "/#profile", None
        )
    token = secrets.token_urlsafe(24)
    origin = COLAB if what == "colab" else ""
    words = jupyter_command(folder, port=port, root=root, origin=origin)
    return ServerCommand(
        words, {**variables, "JUPYTER_TOKEN": token}, f"/tree?token={token}", "/tree"
    )


def virtual_devices(machine: host.Machine) -> dict[str, str]:
    """Return the variable that gives a kernel as many CPU devices as a lesson has on this machine.

    It is empty if there is a better device than the CPU, or if the user has set the number.
    """
    env, planned = machine.env, framework_plan.make_plan(machine)
    is_said = COUNT in env or "xla_force_host_platform_device_count" in env.get("XLA_FLAGS", "")
    return {COUNT: planned.env[COUNT]} if planned.virtual and not is_said else {}


def list_variables(folder: Path, machine: host.Machine) -> dict[str, str]:
    """Return the variables that make a server find its files only in the environment."""
    others = {
        name: value
        for name, value in machine.env.items()
        if name not in _LEAVE_OUT and not name.startswith("JUPYTER_")
    }
    return {
        **others,
        **virtual_devices(machine),
        "JUPYTER_CONFIG_DIR": str(folder / "etc/jupyter"),
        "JUPYTER_RUNTIME_DIR": str(folder / "share/jupyter/runtime"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
