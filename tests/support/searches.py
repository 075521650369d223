"""What newcomers type into a search, and the lessons that answer it.

The first of what is found should be one of them.
"""

from __future__ import annotations

SEARCHES: list[tuple[str, list[str]]] = [
    ("oom", ["jax/memory-and-donation"]),
    ("out of memory", ["jax/memory-and-donation"]),
    ("RESOURCE_EXHAUSTED", ["jax/memory-and-donation"]),
    ("data loader", ["jax/input-pipelines"]),
    ("dataloader", ["jax/input-pipelines"]),
    ("input pipeline", ["jax/input-pipelines"]),
    ("shuffle", ["jax/input-pipelines"]),
    ("checkpoint", ["jax/save-parameters", "pytorch/save-and-load"]),
    ("resume training", ["jax/save-parameters", "pytorch/save-and-load"]),
    ("save model", ["jax/save-parameters", "pytorch/save-and-load", "tensorflow/saving"]),
    ("nan", ["trouble/wrong-numbers", "jax/array-conversion", "jax/precision"]),
    ("multi-host", ["slices/what-a-slice-is", "slices/run-everywhere", "slices/distributed"]),
    ("multiple hosts", ["slices/what-a-slice-is", "slices/run-everywhere", "slices/distributed"]),
    (
        "gpu",
        [
            "start/what-a-tpu-is",
            "start/what-you-get",
            "start/when-it-pays-off",
            "pytorch/which-library",
        ],
    ),
    ("bf16", ["jax/precision", "pytorch/precision"]),
    ("bfloat16", ["jax/precision", "pytorch/precision"]),
    ("recompile", ["jax/jit-and-recompilation", "pytorch/lazy-tensors"]),
    (
        "why is it slow",
        ["project/profile-it", "pytorch/why-is-it-slow", "trouble/hangs-and-slowness"],
    ),
    ("slow", ["project/profile-it", "pytorch/why-is-it-slow", "trouble/hangs-and-slowness"]),
    ("hang", ["trouble/hangs-and-slowness"]),
    ("kill process tpu", ["trouble/who-has-my-tpu"]),
    ("tpu already in use", ["trouble/who-has-my-tpu"]),
    ("jit", ["jax/jit-and-recompilation"]),
    ("how do i shard an array", ["jax/sharding"]),
    ("pmap", ["jax/sharding", "jax/collectives", "jax/every-device"]),
    ("shard_map", ["jax/sharding", "jax/collectives", "jax/every-device"]),
    ("vmap", ["jax/batching"]),
    ("random seed", ["jax/random-keys"]),
    ("gradient", ["jax/gradients"]),
    ("profile", ["jax/measure-and-profile", "pytorch/debug-and-profile"]),
    ("tensorboard", ["jax/measure-and-profile", "pytorch/debug-and-profile"]),
    ("float64", ["jax/64-bit"]),
    ("docker", ["setup/docker"]),
    ("ssh", ["setup/connect", "setup/work-remotely", "setup/a-machine-without-an-address"]),
    ("vscode", ["setup/editors"]),
    ("jupyter", ["setup/jupyter-and-colab"]),
    ("install jax", ["setup/install-jax"]),
    ("install pytorch", ["setup/install-pytorch-xla"]),
    ("how much does it cost", ["start/ways-to-get-one", "setup/clean-up", "setup/create-a-tpu"]),
    ("delete tpu", ["setup/clean-up"]),
    ("queued resource", ["setup/create-a-tpu"]),
    (
        "preempted",
        [
            "slices/a-spot-vm-end-to-end",
            "setup/create-a-tpu",
            "setup/data-and-storage",
            "jax/save-parameters",
            "project/killed-and-resumed",
        ],
    ),
    ("hugging face", ["project/hugging-face-formats", "pytorch/hugging-face"]),
    ("for loop", ["jax/control-flow-and-batching"]),
    ("einsum", ["jax/shapes-and-einsum"]),
    ("free tpu", ["start/ways-to-get-one", "start/on-colab", "start/trc-to-first-vm"]),
    (
        "train on all cores",
        ["jax/train-a-model", "jax/every-device", "pytorch/train-on-every-device"],
    ),
    (
        "segfault",
        ["trouble/logs-and-stack-traces", "trouble/when-it-does-not-start", "trouble/ask-for-help"],
    ),
]
