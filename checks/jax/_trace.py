"""A profiler trace, recorded in a temporary folder and read back.

The rule to know: a trace is a folder `plugins/profile/TIME/` with `HOST.xplane.pb`, which XProf
reads, and `perfetto_trace.json.gz`, which is made from it on request.
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
    """What a recorded trace holds."""

    sizes: dict[str, int]
    """Bytes of each kind of file; 0 where it is missing."""
    events: list[tuple[str, str]]
    """Names of process and event in the JSON, such as `/host:CPU` and `PjitFunction(work)`."""
    planes: list[tuple[str, str]] | None
    """The same in the other file, by plane; null where this JAX cannot read it."""


def record(work):
    """Return the trace of what `work()` does.

    Python calls are not traced: JAX 0.6 would import TensorFlow for that, where it is installed.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level, options.host_tracer_level = 0, 2
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True, profiler_options=options):
            work()
        return read(Path(folder))


def read(folder):
    """Return what the trace in a folder holds."""
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
    if jax.profiler.ProfileData is None:  # JAX 0.6 where it was built without
        return None
    planes = jax.profiler.ProfileData.from_file(str(path)).planes
    return [(plane.name, event.name)
            for plane in planes for line in plane.lines for event in line.events]  # fmt: skip


def marks(events, mark):
    """Return how often a mark is among some events."""
    return sum(event == mark for _, event in events)


def on_devices(platform, events):
    """Return the finding about events on the devices' own lines, which a TPU and a GPU have."""
    code, name = "JAX-PROFILE-DEVICE", "devices with lines of their own"
    if platform == "cpu":
        return Finding(code, name, "info", "not applicable: a CPU runs in threads of the host")
    own = f"/device:{platform.upper()}"
    lines = len({process for process, _ in events if own in process})
    return compare(code, name, lines or "none", lines or "at least one", hint=FIT)
