"""The forms of the trackers, each filled in as far as the facts go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from tpustarter.report.view import Fields, View, fenced

YOURS = "<!-- Yours to write: {} -->"
_PLATFORM = ("system", "kernel", "architecture")


def _jax(view: View) -> Iterator[str]:
    """Fill in JAX's form: a description, and what print_environment_info() says."""
    yield "### Description"
    yield ""
    yield YOURS.format("what you ran, what happened, and what you expected, with code to reproduce")
    yield ""
    yield from _symptoms(view)
    yield "### System info (python version, jaxlib version, accelerator, etc.)"
    yield ""
    yield from fenced(_environment(view))
    yield ""


def _environment(view: View) -> str:
    """Return what `jax.print_environment_info()` said, or the same as far as files tell it."""
    said = view.fact("jax", "environment_info", "")
    if said:
        return str(said)
    hung = view.fact("jax", "hung_in", "")
    why = f"did not answer: `{hung}` hung" if hung else "was not told"
    values = cast("Fields", view.fact("variables", "values", {}))
    lines = [
        *(f"{name}: {view.package(name)}" for name in ("jax", "jaxlib", "libtpu", "numpy")),
        f"python: {view.fact('python', 'python_version')}",
        f"device info: {why}; on PCI: {_chips(view)}",
        f"platform: {', '.join(str(view.fact('program', name)) for name in _PLATFORM)}",
        *(f"{name}={value}" for name, value in values.items() if name.startswith(("JAX_", "XLA_"))),
    ]
    return "\n".join(["(print_environment_info() gave no answer; read from files)", *lines])


def _pytorch_xla(view: View) -> Iterator[str]:
    yield "## 🐛 Bug"
    yield ""
    yield YOURS.format("what the bug is")
    yield ""
    yield from _symptoms(view)
    yield "## To Reproduce"
    yield ""
    yield YOURS.format("steps, and code that needs no data set")
    yield ""
    yield "## Expected behavior"
    yield ""
    yield YOURS.format("what you expected")
    yield ""
    yield "## Environment"
    yield ""
    yield f" - Reproducible on XLA backend [CPU/TPU]: {_platform(view, 'torch_xla')}"
    yield f" - torch_xla version: {view.package('torch_xla')}"
    yield f" - torch {view.package('torch')}, libtpu {view.package('libtpu')}, Python " + str(
        view.fact("python", "python_version")
    )
    yield f" - {_chips(view)}, runtime version {view.fact('metadata', 'runtime_version')}"
    yield ""
    yield "## Additional context"
    yield ""


def _torchtpu(view: View) -> Iterator[str]:
    yield "## Description"
    yield ""
    yield YOURS.format("what you ran, what happened, and what you expected, with code to reproduce")
    yield ""
    yield from _symptoms(view)
    yield "## Versions"
    yield ""
    yield from (f"- {name}: {view.package(name)}" for name in ("torch_tpu", "torch", "libtpu"))
    yield f"- Python: {view.fact('python', 'python_version')}"
    yield f"- TPU: {_chips(view)}, runtime version {view.fact('metadata', 'runtime_version')}"
    yield ""


def _tensorflow(view: View) -> Iterator[str]:
    tensorflow = view.package("tensorflow")
    if tensorflow == "not installed":
        tensorflow = view.package("tensorflow-tpu")
    answers = {
        "Issue type": "Bug",
        "Have you reproduced the bug with TensorFlow Nightly?": YOURS.format("yes or no"),
        "Source": "binary",
        "TensorFlow version": tensorflow,
        "Custom code": YOURS.format("yes or no"),
        "OS platform and distribution": f"{view.fact('program', 'system')}, kernel "
        f"{view.fact('program', 'kernel')}",
        "Mobile device": "none",
        "Python version": str(view.fact("python", "python_version")),
        "Bazel version": "not built from source",
        "GCC/compiler version": "not built from source",
        "CUDA/cuDNN version": "none",
        "GPU model and memory": f"none; {_chips(view)}",
        "Current behavior?": YOURS.format("what happens, and what you expected"),
        "Standalone code to reproduce the issue": YOURS.format("the least code that shows it"),
    }
    for question, answer in answers.items():
        yield from (f"### {question}", "", answer, "")
    yield from ("### Relevant log output", "")
    yield from _symptoms(view)


def _cloud_tpu(view: View) -> Iterator[str]:
    answers = {
        "Problem and impact": YOURS.format("since when, how many TPUs, what cannot be done"),
        "TPU": f"{view.fact('metadata', 'accelerator_type')}, {_chips(view)}",
        "Zone": str(view.fact("metadata", "zone")),
        "Runtime version": str(view.fact("metadata", "runtime_version")),
        "Worker of the slice": f"{view.fact('metadata', 'worker')} of "
        f"{view.fact('metadata', 'hosts')}",
        "Time of this report (UTC)": str(view.document["made"]),
        "Project and TPU name": YOURS.format(
            "support needs the real ones: give them in the case, which is private, and not here"
        ),
    }
    for question, answer in answers.items():
        yield from (f"### {question}", "", answer, "")
    yield from ("### What was seen", "")
    yield from _symptoms(view)


FORMS: Mapping[str, Callable[[View], Iterator[str]]] = {
    "jax": _jax,
    "pytorch-xla": _pytorch_xla,
    "torchtpu": _torchtpu,
    "tensorflow": _tensorflow,
    "cloud-tpu": _cloud_tpu,
}


def _chips(view: View) -> str:
    count = view.fact("tpu", "chips", 0)
    if not count:
        return "no TPU chip on PCI"
    kinds = "/".join(view.fact("tpu", "generation", [])) or "unknown"
    return f"{count} TPU chips ({kinds}), {view.fact('tpu', 'reachable_chips')} reachable"


def _platform(view: View, framework: str) -> str:
    return str(view.fact(framework, "platform", "not asked")).upper()


def _symptoms(view: View) -> Iterator[str]:
    """Yield what went wrong, as far as the log, the frameworks or the checks showed it."""
    for one in view.first["known"]:
        yield f"Seen in {one['from']}, line {one['line']}:"
        yield from fenced(one["quote"])
    last = view.fact("known", "last_error", "")
    if last and not any(one["quote"] == last for one in view.first["known"]):
        yield "The last line of the log that looks like an error:"
        yield from fenced(last)
    for name in ("jax", "torch", "torch_xla", "torch_tpu", "tensorflow"):
        error = str(view.fact(name, "error", "")).strip()
        hung = view.fact(name, "hung_in", "")
        if error:
            yield f"{name} said:"
            yield from fenced("\n".join(error.splitlines()[-3:]))
        if hung:
            yield f"{name} hung in `{hung}` for {view.fact(name, 'waited_s')} s, and was ended."
            yield ""
    for one in cast("list[Fields]", view.fact("checks", "findings", [])):
        if one["verdict"] == "fail":
            yield f"- {one['check']} fails: {one['what']}"
    yield ""
