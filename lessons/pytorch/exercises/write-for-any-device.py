"""Write for any device.

`train` below runs on an XLA device only. Change it so that the same function
runs on `"cpu"`, on `"xla"` and, unchanged, on TorchTPU's `"tpu"`:

* it must not call anything of torch_xla unless the device is an XLA device,
* on an XLA device it syncs once for each step, so that one step is one
  program, and
* it fetches the losses once, after the loop, on every device.
"""

import torch
import torch_xla


def train(device, model, x, y, steps):
    """Return the losses of some steps of SGD, as a list of floats."""
    # your code here, up to the end of the function
    model = model.to("xla")
    x = x.to("xla")
    y = y.to("xla")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        torch_xla.sync()
    return losses


# Judged below: leave this part as it is.

import copy  # noqa: E402

import torch_xla.debug.metrics as met  # noqa: E402

torch.manual_seed(0)
start = torch.nn.Linear(4, 1)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
STEPS = 6

torch_xla.device()
met.clear_all()
on_cpu = train("cpu", copy.deepcopy(start), x, y, STEPS)
syncs = met.counter_value("MarkStep") or 0
created = met.counter_value("CreateXlaTensor") or 0
message = (
    f"on the CPU your function made {syncs} syncs and {created} XLA tensors,"
    " expected none: use torch_xla only where the device is an XLA device"
)
assert syncs == created == 0, message
found = [type(loss).__name__ for loss in on_cpu]
message = f"you return values of type {found}, expected {STEPS} floats"
assert found == ["float"] * STEPS, message
message = f"the losses on the CPU are {on_cpu}, expected them to fall"
assert on_cpu[-1] < 0.5 * on_cpu[0], message

met.clear_all()
on_xla = train("xla", copy.deepcopy(start), x, y, STEPS)
syncs = met.counter_value("MarkStep") or 0
message = f"{STEPS} steps made {syncs} syncs on xla, expected {STEPS}"
assert syncs == STEPS, message
difference = max(abs(a - b) for a, b in zip(on_cpu, on_xla, strict=True))
message = f"cpu and xla differ by {difference:.2g}, expected below 0.05"
assert difference < 0.05, message
executed = met.metric_data("ExecuteTime")[0]
message = (
    f"{STEPS} steps ran {executed} programs on xla, expected at most"
    f" {STEPS + 2}: fetch the losses once, after the loop"
)
assert executed <= STEPS + 2, message
print(f"{STEPS} steps, {syncs} syncs on xla, none on the CPU")
