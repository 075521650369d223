"""float32 matmul is as accurate as its precision promises."""

import torch
import torch_xla
from torch_xla import backends

from tpustarter.checks.jax import _precision as classes
from tpustarter.checks.torch_xla import _graph, _precision
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "pytorch/precision"
SOURCE = "https://docs.pytorch.org/xla/master/tutorials/precision_tutorial.html"
AFTER = ["torch_xla.devices_visible"]

LATE = "set the precision before the first matmul, because it applies when a graph is compiled, at"
LATE += " `torch_xla.sync()`, not where the operation is written"
IGNORED = "this torch_xla does not pass the precision on; update it, and compare results with the"
IGNORED += " CPU until then"


def multiply(x, y):
    """Return `x @ y` at the default precision; `x, y: float32[512, 512]`."""
    return torch.matmul(x, y)


def programs(devices):
    """List the product at each precision."""
    x = torch.empty((512, 512))
    for name in _precision.NAMES:
        with _precision.setting(name):
            yield name, multiply, (x, x)


def run():
    """Measure each precision against float64, and name the arithmetic that it used."""
    before, device = backends.get_mat_mul_precision(), torch_xla.devices()[0]
    yield Finding("XLA-PRECISION-SETTING", "precision in force", "info", before)
    documented = _precision.DOCUMENTED[target().platform]
    pairs = classes.scattered(), classes.dense(), classes.issue()
    for name in _precision.NAMES:
        with _precision.setting(name):
            scattered, dense, issue = (_precision.on_device(pair, device) for pair in pairs)
            torch_xla.sync()
            asked = _graph.precision(torch.matmul(*dense))
            results = [multiply(*pair) for pair in (scattered, dense, issue)]
            torch_xla.sync()
        found = ", ".join(sorted(asked))
        code, what = f"XLA-PRECISION-{name.upper()}-HLO", f"precision in the HLO, {name}"
        yield compare(code, what, found, name, hint=IGNORED)

        scattered, dense, issue = (result.cpu().numpy() for result in results)
        kind = classes.classify(classes.relative_error(scattered, pairs[0]))
        yield _precision.judge(name, kind, documented[name])
        yield _precision.measure(name, kind, classes.relative_error(dense, pairs[1]))
        if name == "default":
            actual, expected = f"{issue[0, 0]:.8f}", classes.ISSUE_RESULT.get(kind)
            same = "ok" if actual == expected else "info"
            yield Finding("XLA-PRECISION-9973", "product of jax issue 9973", same, actual, expected)
    yield late(device)
    after = backends.get_mat_mul_precision()
    yield compare("XLA-PRECISION-LEFT", "precision afterwards", after, before, hint=LATE)


def late(device):
    """Return the finding on a product whose precision is changed after it was written."""
    x = torch.ones((2, 2), device=device)
    with _precision.setting("highest"):
        product = x @ x
        backends.set_mat_mul_precision("default")
        found = ", ".join(_graph.precision(product))
    name = "`highest` when written, `default` when compiled"
    return Finding("XLA-PRECISION-LATE", name, "info", found, hint=LATE)
