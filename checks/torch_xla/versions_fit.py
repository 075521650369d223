"""torch, torch_xla and libtpu were made for each other."""

import importlib.metadata

import torch
import torch_xla

from tpustarter.checks.host import _install, _versions
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 0.1
LESSON = "setup/install-pytorch-xla"
SOURCE = "https://github.com/pytorch/xla/blob/master/README.md"
AFTER = ["host.frameworks"]

OVERWRITTEN = "use an environment of its own for torchax: torch_xla's wheel overwrites its files"
NEXT = "`tpustarter learn pytorch/which-library` compares it with TorchTPU, its successor"


def versions():
    """Return the versions of the two modules that this process imported."""
    return torch.__version__, torch_xla.__version__


def run():
    """Compare the imported pair, then the installed libtpu with what torch_xla asks for."""
    actual, own = versions()
    release = ".".join(own.split("+")[0].split(".")[:2])
    tpu = target().platform == "tpu"
    pair = (f"torch=={release}.*", f"torch_xla{'[tpu]' * tpu}=={own}")
    yield compare(
        "XLA-VERSIONS-PAIR",
        f"torch, as torch_xla {own} was built for it",
        ".".join(actual.split(".")[:2]),
        release,
        hint=f"run `{_install.into_this_python(*pair)}`",
    )
    packages = _versions.installed()
    yield libtpu(packages, tpu=tpu)
    if "torch-xla" in packages:
        yield imported(packages["torch-xla"].version, own)
    yield Finding("XLA-VERSIONS-RELEASE", "release of torch_xla", "info", own, hint=NEXT)
    yield from torchax()


def libtpu(packages, *, tpu):
    """Return how libtpu fits what `torch_xla[tpu]` asks for; without a TPU it is not needed."""
    code, name = "XLA-VERSIONS-LIBTPU", "libtpu"
    xla, part = packages.get("torch-xla"), packages.get("libtpu")
    asked = _versions.specifier_for(xla, "libtpu", "tpu") if xla else None
    if part is None:
        missing = "not among this Python's packages" if tpu else "not needed without a TPU"
        return Finding(code, name, "info", missing, asked if tpu else None)
    fits = _versions.allows(asked, part.version) if asked else None
    if fits is not False:
        return Finding(code, name, "ok" if fits else "info", part.version, asked)
    command = _install.into_this_python(f"torch_xla[tpu]=={xla.version}")
    verdict, hint = ("warn", f"run `{command}`") if tpu else ("info", None)
    return Finding(code, name, verdict, part.version, asked, hint=hint)


def imported(installed, own):
    """Return whether the imported module is the installed one, and not another on the path."""
    hint = '`python -c "import torch_xla; print(torch_xla.__file__)"` shows which one is in the way'
    same = own.split("+")[0] == installed.split("+")[0]
    name, verdict = "torch_xla as its metadata says", "ok" if same else "warn"
    hint = None if same else hint
    return Finding("XLA-VERSIONS-IMPORTED", name, verdict, own, installed, hint=hint)


def torchax():
    """Yield a warning where torchax is installed beside torch_xla, which ships an old one."""
    for package in importlib.metadata.distributions(name="torchax"):
        code, name = "XLA-VERSIONS-TORCHAX", "torchax beside torch_xla"
        yield Finding(code, name, "warn", package.version, "none", hint=OVERWRITTEN)
