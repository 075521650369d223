"""torch, torch_xla and libtpu fit each other."""

import torch
import torch_xla

from tpustarter.checks.host import _install, _versions
from tpustarter.checks.torch_xla import _installed
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 0.1
LESSON = "setup/install-pytorch-xla"
SOURCE = "https://github.com/pytorch/xla/blob/master/README.md"
AFTER = ["host.frameworks"]

NEXT = Hint.see(
    "tpustarter learn pytorch/which-library", "compares it with TorchTPU, its successor"
)


def versions():
    """Return the versions of the two modules that this process imported."""
    return torch.__version__, torch_xla.__version__


def run():
    """Compare the imported pair, then the installed libtpu with what torch_xla requires."""
    actual, own = versions()
    release = ".".join(own.split("+")[0].split(".")[:2])
    tpu = target().platform == "tpu"
    pair = (f"torch=={release}.*", f"torch_xla{'[tpu]' * tpu}=={own}")
    yield compare(
        "XLA-VERSIONS-PAIR",
        f"torch that torch_xla {own} was built for",
        ".".join(actual.split(".")[:2]),
        release,
        hint=_install.into_this_python(*pair),
    )
    packages = _versions.installed()
    yield _installed.libtpu(packages, on_tpu=tpu)
    if tpu:
        yield _installed.chips()
    if "torch-xla" in packages:
        yield _installed.imported(packages["torch-xla"].version, own)
    yield Finding("XLA-VERSIONS-RELEASE", "release of torch_xla", "info", own, hint=NEXT)
