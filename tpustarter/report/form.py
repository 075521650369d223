"""The report as Markdown, in the form of a tracker: what the form asks for, then all the facts.

Facts stand in fenced blocks, so nothing in them is markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from tpustarter.report import trackers

Fields = dict[str, Any]
YOURS = "<!-- Yours to write: {} -->"
LONGEST = 60_000
"""Characters of an issue, somewhat fewer than GitHub takes: facts beyond are in report.json."""


_PLATFORM = ("system", "kernel", "architecture")


class View:
    """A document with its facts at hand."""

    def __init__(self, document: Fields) -> None:
        self.document = document
        self.first = cast("Fields", document["first"])
        self.sections = cast("list[Fields]", document["sections"])
        self._facts: dict[str, Fields] = {one["name"]: one["facts"] for one in self.sections}

    def fact(self, section: str, name: str, default: Any = "unknown") -> Any:
        """Return a fact; the default where it was not told."""
        value = self._facts.get(section, {}).get(name)
        return default if value is None else value

    def package(self, name: str) -> str:
        """Return the version of a package."""
        return str(cast("Fields", self.fact("python", "packages", {})).get(name, "not installed"))


def markdown(document: Fields, limit: int = LONGEST) -> str:
    """Return the report in the form of its tracker, of at most about so many characters."""
    view = View(document)
    tracker = trackers.named(view.first["tracker"])
    head = [*_before(view, tracker), *_FORMS[tracker.id](view)]
    text = "\n".join(head)
    for block in _facts(view):
        if len(text) + len(block) > limit:
            title = re.search(r"<summary>(.*?)</summary>", block)
            text += f"\n{title[1] if title else 'More'}: too long for an issue, see report.json.\n"
            continue
        text += f"\n{block}"
    return text.rstrip() + "\n"


def _before(view: View, tracker: trackers.Tracker) -> Iterator[str]:
    """Yield what is to be seen first."""
    first = view.first
    yield "## Before you file"
    yield ""
    for one in first["stale"]:
        yield (
            f"- **Stale version**: {one['name']} {one['found']} is installed, {one['newest']} is "
            "out. Try that first, because its maintainers will ask."
        )
    if not first["stale"]:
        yield "- **Versions**: none of those installed is known to be stale."
    for one in first["known"]:
        yield (
            f"- **Known failure** ({one['confidence']}): {one['title']} (`{one['id']}`, seen in "
            f"{one['from']}). Read {one['sources'][0]} before you file."
        )
    if not first["known"]:
        searched = view.fact("known", "searched", [])
        none = f"none matches what was searched ({', '.join(searched)})."
        yield "- **Known failures**: " + (
            none if searched else "there was no text to search; `--log FILE` gives one."
        )
    for one in first["hung"]:
        yield (
            f"- **Hang**: {one['framework']} did not come back from `{one['in']}` within "
            f"{one['seconds']:g} s"
            + (f", and {one['likely']}" if one.get("likely") else "")
            + ". Its stack is below."
        )
    yield (
        f"- **Where**: {tracker.title}, {first['file_at']} ({first['why_there']}). Search "
        f"{first['search_at']} first."
    )
    yield ""


def _jax(view: View) -> Iterator[str]:
    """Fill in JAX's form: a description, and what print_environment_info() says."""
    yield "### Description"
    yield ""
    yield YOURS.format("what you ran, what happened, and what you expected, with code to reproduce")
    yield ""
    yield from _symptoms(view)
    yield "### System info (python version, jaxlib version, accelerator, etc.)"
    yield ""
    yield from _fenced(_environment(view))
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


_FORMS: Mapping[str, Callable[[View], Iterator[str]]] = {
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
        yield from _fenced(one["quote"])
    last = view.fact("known", "last_error", "")
    if last and not any(one["quote"] == last for one in view.first["known"]):
        yield "The last line of the log that looks like an error:"
        yield from _fenced(last)
    for name in ("jax", "torch", "torch_xla", "torch_tpu", "tensorflow"):
        error = str(view.fact(name, "error", "")).strip()
        hung = view.fact(name, "hung_in", "")
        if error:
            yield f"{name} said:"
            yield from _fenced("\n".join(error.splitlines()[-3:]))
        if hung:
            yield f"{name} hung in `{hung}` for {view.fact(name, 'waited_s')} s, and was ended."
            yield ""
    for one in cast("list[Fields]", view.fact("checks", "findings", [])):
        if one["verdict"] == "fail":
            yield f"- {one['check']} fails: {one['what']}"
    yield ""


def _facts(view: View) -> Iterator[str]:
    """Yield each section as a folded block, then what is missing."""
    yield "## Facts, collected by tpustarter\n"
    for one in view.sections:
        if one["state"] == "answered" and one["facts"]:
            inside = "\n".join(_fenced("\n".join(_lines(one["facts"]))))
            yield (f"<details><summary>{one['title']}</summary>\n\n{inside}\n\n</details>\n")
    missing = [one for one in view.sections if one["state"] != "answered"]
    if missing:
        rows = [f"- {one['title']}, after {one['seconds']:g} s: {_plain(one['why'])}"
                for one in missing]  # fmt: skip
        yield "What gave no answer:\n\n" + "\n".join(rows) + "\n"
    fields = [one for one in view.document["left_out"] if "." in one["what"]]
    if fields:
        rows = [f"- {_plain(one['what'])}: {_plain(one['why'])}" for one in fields]
        yield "What was left out:\n\n" + "\n".join(rows) + "\n"
    counts = view.document["replacements"]
    told = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count) or "none"
    yield (
        f"Made by tpustarter {view.document['tool']['version']} at {view.document['made']} in "
        f"{view.document['seconds']:g} s. Names are replaced by pseudonyms ({told}).\n"
    )


def _plain(text: Any) -> str:
    """Return a text of one line in which nothing is markup."""
    return re.sub(r"([`*_<>\[\]|#])", r"\\\1", " ".join(str(text).split()))


def _lines(value: Any, name: str = "") -> Iterator[str]:
    """Yield facts as `name: value`, one a line; a text of several lines stands below its name."""
    if isinstance(value, dict):
        for key, item in cast("Fields", value).items():
            yield from _lines(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        if any(isinstance(one, dict | list) or "\n" in str(one) for one in items):
            for number, item in enumerate(items):
                yield from _row(item, f"{name}[{number}]")
        elif items:
            yield f"{name}: {', '.join(map(_word, items))}"
    elif value is not None:
        yield from _one(name, _word(value))


def _row(item: Any, name: str) -> Iterator[str]:
    """Yield a thing with plain fields as one line."""
    fields = cast("Fields", item) if isinstance(item, dict) else {}
    if fields and not any("\n" in str(one) or isinstance(one, dict) for one in fields.values()):
        shown = (f"{key}={_told(one)}" for key, one in fields.items() if one not in (None, []))
        yield f"{name}: {', '.join(shown)}"
    else:
        yield from _lines(item, name)


def _told(value: Any) -> str:
    return (
        "; ".join(map(_word, cast("list[Any]", value))) if isinstance(value, list) else _word(value)
    )


def _one(name: str, text: str) -> Iterator[str]:
    if "\n" in text:
        yield f"{name}:"
        yield from (f"  {line}" for line in text.split("\n"))
    else:
        yield f"{name}: {text}"


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _fenced(text: Any) -> Iterator[str]:
    """Yield a block whose fence is longer than any row of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", str(text))), default=2)
    fence = "`" * (longest + 1)
    yield f"{fence}text"
    yield str(text)
    yield fence
