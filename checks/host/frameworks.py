"""Installed framework versions are compatible."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from tpustarter.checks.host import (
    _fit,
    _install,
    _pins,
    _tensorflow,
    _torch,
    _torchax,
    _versions,
)
from tpustarter.machine import frameworks, host
from tpustarter.machine.frameworks import FRAMEWORKS
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 20
ESTIMATE_S = 0.1
LESSON = "setup/python-and-environments"
SOURCE = "https://docs.jax.dev/en/latest/installation.html"

KNOWN = {
    *(
        frameworks.spell_distribution(name)
        for name, row in FRAMEWORKS.items()
        if not row.required_frameworks
    ),
    *frameworks.BUILDS,
}


def run(machine: host.Machine | None = None, path: Sequence[str] | None = None):
    """Read versions and requirements of what is installed; nothing is imported."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    tpu = host.guess_platform(machine) == "tpu"
    packages = _versions.installed(path)
    if not packages.keys() & KNOWN:
        yield Finding(
            code="HOST-FRAMEWORKS-NONE",
            name="frameworks in this Python",
            found="none",
            hint=Hint.set_up(_install.SET_UP),
        )
    yield from _fit.versions(packages, tpu=tpu)
    built = path is None and importlib.util.find_spec("jaxlib") is not None
    yield from _fit.jaxlib_present(packages, elsewhere=built)
    if tpu:
        library = machine.env.get("TPU_LIBRARY_PATH")
        elsewhere = bool(library) and machine.is_file(library)
        yield from _fit.libtpu_present(packages, elsewhere=elsewhere)
    yield from _pins.pins(packages, tpu=tpu)
    yield from _fit.clashes(packages, tpu=tpu)
    found = host.find_generation(machine)
    generation = found.name if found else "unknown" if tpu else None
    yield from _torch.findings(packages, tpu=tpu, generation=generation)
    yield from _torchax.overwritten(path)
    yield from _tensorflow.tensorflow(packages, generation)
    yield from _tensorflow.tensorflow_libtpu(packages)
    service = find_notebook_service(machine.env)
    on_colab = service is not None and service.name == "Colab"
    yield from _tensorflow.tensorflow_facts(packages, on_colab=on_colab)
