"""Train, save, and resume: the program that a lesson kills.

    python train_resumable.py FOLDER [--without-data]

Prints a line for each step, with the loss as a hexadecimal number, which
has every bit of it. The last line is a hash of all parameters.
"""

import argparse
import hashlib
import signal
import threading
import time

import configs
import corpus
import input_pipeline
import jax
import numpy as np
import training
from orbax.checkpoint import v1 as ocp

STEPS = 24
SAVE_EVERY = 5
PAUSE_S = 0.2
"""After each step, which would take longer with a larger model."""


def main(folder, *, with_data):
    """Train, from the newest checkpoint in the folder if there is one."""
    told_to_stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told_to_stop.set())

    jax.set_mesh(jax.make_mesh((jax.device_count(),), ("data",)))
    config = configs.tiny(layers=2, rules=configs.Rules(batch="data"))
    optimizer = training.adamw(steps=60)
    state = training.init_state(config, optimizer, jax.random.key(0))
    train, _ = corpus.load()
    batches = input_pipeline.dataset(train, config.length, 16)
    iterator = iter(batches.to_iter_dataset())

    with open_run(folder) as checkpointer:
        step = 0
        if checkpointer.latest is not None:
            wanted = {"state": state, "data": iterator}
            if not with_data:
                del wanted["data"]
            saved = checkpointer.load_checkpointables(None, wanted)
            state, iterator = saved["state"], saved.get("data", iterator)
            step = checkpointer.latest.step
            print("resumed after", step, flush=True)
        while step < STEPS and not told_to_stop.is_set():
            batch = jax.device_put(next(iterator), jax.P("data"))
            state, metrics = training.train_step(
                config, optimizer, state, batch
            )
            step += 1
            print("step", step, float(metrics["loss"]).hex(), flush=True)
            time.sleep(PAUSE_S)
            checkpointer.save_checkpointables_async(
                step,
                {"state": state, "data": iterator},
                force=told_to_stop.is_set(),
            )
    print("hash", hash_of(state["params"]))


def open_run(folder):
    """Return the checkpoints of a run, of which it keeps the newest two."""
    when = ocp.training.save_decision_policies
    which = ocp.training.preservation_policies
    return ocp.training.Checkpointer(
        folder,
        save_decision_policy=when.FixedIntervalPolicy(SAVE_EVERY),
        preservation_policy=which.LatestN(2),
        cleanup_tmp_directories=True,
    )


def hash_of(tree):
    """Return a hash of every bit of a tree of arrays."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--without-data", action="store_true")
    given = parser.parse_args()
    main(given.folder, with_data=not given.without_data)
