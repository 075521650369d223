"""Compatibility of torch_xla with other packages in this Python, and with this machine's chips."""

from torch_xla._internal import tpu

from tpustarter.checks.host import _install, _versions
from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

SHADOW = Hint.see(
    'python -c "import torch_xla; print(torch_xla.__file__)"', "shows which file it is"
)
NEWER = Hint(
    "this chip is newer than torch_xla; `tpustarter setup torchtpu` makes an environment with its"
    " successor",
    setup="torchtpu",
)


def libtpu(packages, *, on_tpu):
    """Return the finding on libtpu and `torch_xla[tpu]`'s pin; without a TPU it is not needed."""
    code, name = "XLA-VERSIONS-LIBTPU", "libtpu"
    xla, part = packages.get("torch-xla"), packages.get("libtpu")
    asked = _versions.specifier_for(xla, "libtpu", "tpu") if xla else None
    if part is None:
        missing = "not among this Python's packages" if on_tpu else "not needed without a TPU"
        return Finding(code, name, "info", missing, asked if on_tpu else None)
    fits = _versions.allows(asked, part.version) if asked else None
    if fits is not False:
        return Finding(code, name, "ok" if fits else "info", part.version, asked)
    install = _install.into_this_python(f"torch_xla[tpu]=={xla.version}")
    verdict, hint = ("warn", install) if on_tpu else ("info", None)
    return Finding(code, name, verdict, part.version, asked, hint=hint)


def imported(installed, own):
    """Return the finding that the imported module is the installed one, not another on the path."""
    same = own.split("+")[0] == installed.split("+")[0]
    code, name = "XLA-VERSIONS-IMPORTED", "torch_xla as its metadata says"
    verdict, hint = ("ok", None) if same else ("warn", SHADOW)
    return Finding(code, name, verdict, own, installed, hint=hint)


def chips():
    """Return the finding that torch_xla, which has a list of chips, counts all chips on PCI."""
    present = len(host.list_chips(host.Machine(root=target().root, uid=target().uid)))
    counted = tpu.num_available_chips()
    verdict, hint = ("warn", NEWER) if counted < present else ("ok", None)
    code, name = "XLA-VERSIONS-CHIPS", "TPU chips that torch_xla knows"
    return Finding(code, name, verdict, counted, present, hint=hint)
