"""A profiler trace, recorded in a temporary folder and read back.

The rule to know: a trace is a folder `plugins/profile/TIME/` with `HOST.xplane.pb`, which XProf
reads, and `perfetto_trace.json.gz`, which is generated from it on request.
Source: https://docs.jax.dev/en/latest/profiling.html
"""

import gzip
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import jax

from tpustarter.probe.finding import Finding, Hint, compare

SPACE, PERFETTO = "xplane.pb", "perfetto_trace.json.gz"

FIT = Hint.see(
    "tpustarter check host.frameworks -v", "shows whether JAX fits the device's driver library"
)


class Trace(NamedTuple):
    """The content of a recorded trace."""

    sizes: dict[str, int]
    """Bytes of each kind of file; 0 if it is missing."""
    events: list[tuple[str, str]]
    """Names of process and event in the JSON, such as `/host:CPU` and `PjitFunction(work)`."""
    planes: list[tuple[str, str]] | None
    """The same in the other file, by plane; None if this JAX cannot read it."""


def record(work):
    """Return the trace of `work()`.

    Python calls are not traced, because JAX 0.6 would import TensorFlow for that if installed.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level, options.host_tracer_level = 0, 2
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True, profiler_options=options):
            work()
        return read(Path(folder))


def read(folder):
    """Return the content of the trace in a folder."""
    paths = {kind: next(iter(folder.rglob(f"*{kind}")), None) for kind in (SPACE, PERFETTO)}
    sizes = {kind: path.stat().st_size if path else 0 for kind, path in paths.items()}
    space, perfetto = paths.values()
    return Trace(sizes, from_json(perfetto) if perfetto else [], from_space(space) if space else [])


def from_json(path):
    """Return process and name of each event in a compressed JSON trace."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events
             if event.get("name") == "process_name"}  # fmt: skip
    return [
        (names.get(event["pid"], ""), event["name"]) for event in events if event.get("ph") == "X"
    ]


def from_space(path):
    """Return plane and name of each event in an `.xplane.pb`."""
    if jax.profiler.ProfileData is None:  # JAX 0.6 built without it
        return None
    planes = jax.profiler.ProfileData.from_file(str(path)).planes
    return [(plane.name, event.name)
            for plane in planes for line in plane.lines for event in line.events]  # fmt: skip


def marks(events, mark):
    """Return the number of events with the name of a mark."""
    return sum(event == mark for _, event in events)


def on_devices(platform, events):
    """Return the finding about events on the devices' own lines, which a TPU and a GPU have."""
    code, name = "JAX-PROFILE-DEVICE", "devices with lines of their own"
    if platform == "cpu":
        return Finding(code, name, "info", "not applicable: a CPU runs in threads of the host")
    own = f"/device:{platform.upper()}"
    lines = len({process for process, _ in events if own in process})
    return compare(code, name, lines or "none", lines or "at least one", hint=FIT)
