"""`TPUClusterResolver(tpu="local")` needs no TPU name."""

import os

import tensorflow as tf

from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 0.1
LESSON = "tensorflow/run-config"
SOURCE = (
    "https://www.tensorflow.org/api_docs/python/tf/distribute/cluster_resolver/TPUClusterResolver"
)
AFTER = ["tensorflow.package"]

NAMES = ("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME", "TPU_CONFIG")
"""Variables from which it takes a name where none is given: tensorflow/python/tpu/client/client.py
of 2.20.0 reads them in this order."""
MESSAGE = "Please provide a TPU Name to connect to."
LOCAL = 'on a TPU VM write `TPUClusterResolver(tpu="local")`; without "local" it looks elsewhere'
UNSET = Hint.run(
    "unset {}", ", because a resolver without a name looks for that TPU on another machine"
)


def local():
    """Return a resolver of this machine's own chips, which sends no request."""
    return tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")


def nameless():
    """Return TensorFlow's error for a missing TPU name, or an empty string if it finds one."""
    try:
        tf.distribute.cluster_resolver.TPUClusterResolver()
    except ValueError as error:
        return str(error)
    return ""


def run():
    """Read the local resolver's address, then omit the name, as old programs do."""
    resolver = local()
    address = resolver.master()
    yield compare("TF-RESOLVER-ADDRESS", "address that `local` stands for",
                  address or "this process", "this process", hint=LOCAL)  # fmt: skip
    hosts = resolver.cluster_spec().as_dict()
    yield compare("TF-RESOLVER-HOSTS", "other hosts that it names", len(hosts), 0, hint=LOCAL)
    named = [name for name in NAMES if name in os.environ]  # an empty one is used as well
    for name in named:
        if os.environ[name] != "local":
            yield Finding("TF-RESOLVER-NAMED", "variable that names another TPU", "warn", name,
                          hint=UNSET.format(name))  # fmt: skip
    if not named:
        yield compare("TF-RESOLVER-NAMELESS", "error of a resolver without a name", nameless(),
                      MESSAGE, hint=LOCAL)  # fmt: skip
