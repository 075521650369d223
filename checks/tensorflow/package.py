"""The installed TensorFlow is the build for this machine."""

import tensorflow as tf
from tensorflow.python.framework import kernels

from tpustarter.checks.host import _versions
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 4
LESSON = "setup/install-tensorflow"
SOURCE = "https://www.tensorflow.org/guide/tpu"
AFTER = ["host.frameworks"]

BUILDS = ("tensorflow-tpu", "tensorflow", "tensorflow-cpu")
EXECUTE = "TPUExecute"
"""The operation that runs a program on a TPU; builds without TPU support have no kernel for it."""
SET_UP = Hint.set_up("tensorflow", ", which installs the build that fits this machine")
MOVE = Hint.set_up("keras", " for Keras on JAX, because no TensorFlow runs on TPU7x")


def can_use_a_tpu():
    """Return whether this build has the kernel that runs TPU programs."""
    return bool(kernels.get_registered_kernels_for_op(EXECUTE).kernel)


def imported():
    """Return the version of the module that this process imported."""
    return tf.__version__


def run(packages=None):
    """Compare the build's kernels with its name, and both with the machine."""
    packages = _versions.installed() if packages is None else packages
    builds = [name for name in BUILDS if name in packages]
    on_tpu, able = target().platform == "tpu", can_use_a_tpu()
    named = ", ".join(f"{name} {packages[name].version}" for name in builds) or "none known"
    yield Finding("TF-PACKAGE-BUILD", "installed build", "info", named)
    if len(builds) == 1:
        yield compare(
            "TF-PACKAGE-KERNELS",
            f"{builds[0]} can use a TPU",
            able,
            expected=builds[0] == "tensorflow-tpu",
            hint=SET_UP,
        )
        release = packages[builds[0]].version
        name = "version that was imported, as installed"
        yield compare("TF-PACKAGE-VERSION", name, imported(), release, hint=SET_UP)
    else:
        yield compare("TF-PACKAGE-ONE", "builds of TensorFlow installed", len(builds), 1,
                      hint=SET_UP)  # fmt: skip
    if on_tpu:
        name = f"{named if builds else 'this build'} can use the TPU of this machine"
        hint = MOVE if target().generation == "tpu7x" else SET_UP
        yield compare("TF-PACKAGE-TPU", name, able, expected=True, hint=hint)
