"""`ocp.training.Checkpointer` takes the folder and two policies. Here they
are `FixedIntervalPolicy(5)` and `LatestN(2)`.

Before the loop, ask `checkpointer.latest`. If it is not `None`, load the
two parts with `load_checkpointables`, give the state to `nnx.update`, and
begin after `checkpointer.latest.step`.

If the losses differ from the first resumed step on, the data begin again
with the first batch. Use the iterator that the checkpoint returned.

Learned: A run that resumes needs its state and its data position, and the
test for both is that no loss changes.
"""

import tempfile
from pathlib import Path

import classifier
import jax
import numpy as np
from classifier import on_devices, train_step
from flax import nnx
from orbax.checkpoint import v1 as ocp
from spirals import make_batches, spirals

jax.set_mesh(jax.make_mesh((jax.device_count(),), ("data",)))
train_data = spirals(np.random.default_rng(0), 512)


when = ocp.training.save_decision_policies.FixedIntervalPolicy(5)
which = ocp.training.preservation_policies.LatestN(2)


def run(path, until):
    """Train until a step, from the newest checkpoint if there is one."""
    model, optimizer = classifier.create(jax.P("data"))
    batches = make_batches(train_data, 256)
    done = 0
    losses = {}
    with ocp.training.Checkpointer(
        path, save_decision_policy=when, preservation_policy=which
    ) as checkpointer:
        if checkpointer.latest is not None:
            parts = {"state": nnx.state((model, optimizer)), "data": batches}
            saved = checkpointer.load_checkpointables(None, parts)
            nnx.update((model, optimizer), saved["state"])
            batches = saved["data"]
            done = checkpointer.latest.step
        for step in range(done + 1, until + 1):
            batch = on_devices(next(batches))
            losses[step] = train_step(model, optimizer, batch)
            parts = {"state": nnx.state((model, optimizer)), "data": batches}
            checkpointer.save_checkpointables(step, parts)
    return losses


# Judged below: leave this part as it is.

folder = Path(tempfile.mkdtemp())
whole = jax.device_get(run(folder / "whole", 22))
assert sorted(whole) == list(range(1, 23)), f"found steps {sorted(whole)}"
first_steps = []
stitched = {}
for until in (7, 13, 22):
    losses = jax.device_get(run(folder / "run", until))
    first_steps.append(min(losses))
    stitched |= losses
message = f"the three runs begin with steps {first_steps}"
assert first_steps == [1, 6, 11], f"{message}, expected [1, 6, 11]"
wrong = [step for step in whole if stitched[step] != whole[step]]
message = f"the losses of steps {wrong[:3]} differ from those of one run"
assert not wrong, f"{message}: which part of the state is missing?"
names = [entry.name for entry in (folder / "run").iterdir()]
steps = sorted(int(name) for name in names if name.isdigit())
assert steps == [15, 20], f"on disk are {steps}, expected [15, 20]"
print("three runs, and every loss is that of one run")
