"""Programs of the user's are lowered as for a TPU, and each failure has its own report."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tpustarter
from tests.support.stub_compiler import SAMPLES
from tpustarter.machine import tpus
from tpustarter.machine.machine import Machine
from tpustarter.machine.memory import available_memory_bytes
from tpustarter.probe.rehearse import device_queries, exports, stablehlo_compiler
from tpustarter.probe.rehearse.device_queries import PatchedDeviceQueries
from tpustarter.probe.rehearse.exports import LoweringJob
from tpustarter.rehearsal.compile import lowering
from tpustarter.rehearsal.programs import user_program
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.programs.user_program import LoweredProgram, ProgramWarning
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.running import run_folder

BAD = SAMPLES / "rehearsal_bad"
GIB = 2**30
ANSWERED = "it asks where it runs, and was answered `tpu`"
KINDS = "it asks for the kind of device: each kind of TPU has its own program here"


def lower(
    stub: str, name: str, *names: str, timeout_s: float = 120.0, env: dict[str, str] | None = None
) -> list[LoweredProgram]:
    """Lower the programs of a sample file with this Python as the user's; return their events."""
    session = Rehearsal(RehearsalRequest(ids=("jax.every_device",), compiler=stub))._session(
        run_folder.make_run_folder()
    )
    env = {**session.env, "JAX_NUM_CPU_DEVICES": "8", **(env or {})}
    session = replace(session, python=Path(sys.executable), env=env)
    code = user_program.parse_function(str(BAD / f"{name}.py"), ())
    topologies = [tpus.find_topology(tpu) for tpu in names or ("v5e-8",)]
    events = lowering.lower_programs(code, session, topologies, timeout_s, lambda _: None)
    return [event for event in events if isinstance(event, LoweredProgram)]


def rehearse(stub: str, **asked: Any) -> Rehearsal:
    """Rehearse with this Python as the user's; return the rehearsal."""
    asked = {"tpus": ("v5e-8",), "jobs": 1, "python": sys.executable, **asked}
    rehearsal = Rehearsal(RehearsalRequest(compiler=stub, **asked))
    for _ in rehearsal.events():
        pass
    return rehearsal


def is_product(exported: LoweredProgram) -> bool:
    """Return whether a program multiplies, as those of `asks.py` do only on a TPU."""
    return b"dot_general" in Path(exported.source["artifact"]).read_bytes()


def test_program_that_queries_platform_gets_tpu(stub: str) -> None:
    """Every query of the platform gets a TPU and is noted; kinds differ only where it matters."""
    found = lower(stub, "asks", "v5e-8", "v6e-8")
    by_name: dict[str, list[LoweredProgram]] = {}
    for exported in found:
        by_name.setdefault(exported.program, []).append(exported)
    both = ("v5e-8", "v6e-8")

    assert [] == [exported.error for exported in found if exported.error]
    assert [] == [exported.program for exported in found if not is_product(exported)]
    assert {name: [one.tpus for one in several] for name, several in by_name.items()} == {
        "backend": [both],
        "platform": [both],
        "loaded": [both],
        "silent": [both],
        "kind": [("v5e-8",), ("v6e-8",)],
        "kernel": [("v5e-8",), ("v6e-8",)],
    }
    assert {(ANSWERED,)} == {by_name[name][0].notes for name in ("backend", "platform", "loaded")}
    assert {(KINDS,)} == {by_name[name][0].notes for name in ("kind", "kernel")}


def test_start_is_awaited_as_long_as_program(stub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's start may take as long as `--timeout` allows, because it is slow on a busy machine."""
    monkeypatch.setattr(lowering, "START_S", 0.01)
    found = lower(stub, "asks")

    assert [] == [exported.error for exported in found if exported.error]
    assert found


def asks(x: Any) -> Any:
    """Return a product on a TPU, and something else elsewhere."""
    return x @ x if jax.default_backend() == "tpu" else x - 1


def test_lowering_in_this_process_leaves_no_trace(stub: str) -> None:
    """The Python API lowers for a TPU; the same function then runs here as on a CPU."""
    jitted, x = jax.jit(asks), np.ones((4, 4), np.float32)
    before = jax.default_backend, jax.devices, jax.config.jax_traceback_filtering
    answer = tpustarter.rehearse(jitted, x, tpu="v5e-8", compiler=stub)

    assert (ANSWERED,) == answer.notes
    assert (jitted(x) == 0).all()
    assert before == (jax.default_backend, jax.devices, jax.config.jax_traceback_filtering)
    assert "cpu" == jax.devices()[0].platform == jax.default_backend()


def test_mesh_around_yield_is_active_and_titles_unique(stub: str) -> None:
    """Programs are lowered within the file's `with` around its `yield`; titles are unique."""
    found = lower(stub, "meshes")

    assert [None] * 3 == [exported.error for exported in found]
    assert ["step", "step(f32[128,128])", "step(f32[128,128]) #2"] == [
        exported.program for exported in found
    ]


def test_devices_of_slices_tell_their_slice(stub: str) -> None:
    """A file makes a mesh of two slices, as JAX does; one slice has no index."""
    found = lower(stub, "two_slices", "2xv5e-4", "v6e-8")

    assert {("2xv5e-4",): "0011", ("v6e-8",): "none"} == {
        exported.tpus: exported.program for exported in found
    }
    assert [None, None] == [exported.error for exported in found]


@pytest.mark.skipif(not hasattr(jax, "P"), reason="this JAX has no explicit axes by default")
def test_mesh_with_explicit_axes_is_tpu_mesh_everywhere(stub: str) -> None:
    """JAX compares the mesh of each argument, real or abstract, with the one in force."""
    found = lower(stub, "explicit")

    assert [None] * 3 == [exported.error for exported in found]
    assert ["first", "second", "its own mesh"] == [exported.program for exported in found]
    assert [8] * 3 == [exported.source["lowered"]["devices"] for exported in found]


def test_arguments_have_names_of_function_parameters(tmp_path: Path) -> None:
    """Parts of a pytree by their paths, and those that are not used by none."""

    def step(params: Any, unused: Any, batch: Any) -> Any:
        return params["w1"] @ batch + params["w2"]

    array = jax.ShapeDtypeStruct((8, 8), np.float32)
    path = tmp_path / "artifact"
    exports.export_to_file(path, LoweringJob(step, ({"w1": array, "w2": array}, array, array)))

    assert ["params['w1']", "params['w2']", "batch"] == stablehlo_compiler.read_argument_names(
        path.read_bytes()
    )
    assert [] == stablehlo_compiler.read_argument_names(b"no artifact")


def test_client_and_devices_tell_one_platform() -> None:
    """A device and its client report the same platform, because libraries ask either of them."""
    tpu = device_queries.TpuDevice("TPU v5 lite", 1)
    with PatchedDeviceQueries(jax) as answers, answers.answer_for(tpu):
        device = jax.devices()[0]
        said = device.platform, device.client.platform, device.device_kind, device.num_cores

    assert ("tpu", "tpu", "TPU v5 lite", 1) == said
    assert ("cpu", "cpu") == (jax.devices()[0].platform, jax.devices()[0].client.platform)


def test_argument_and_result_call_one_function(tmp_path: Path) -> None:
    """Arguments and results share one function, although only results use the abstract device."""

    def step(key: Any) -> Any:
        kept, used = jax.random.split(key)
        return jax.random.split(kept), used

    key = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    path = tmp_path / "artifact"
    device = device_queries.TpuDevice("TPU v5 lite", 1)
    with PatchedDeviceQueries(jax) as answers, answers.answer_for(device):
        exports.export_to_file(path, LoweringJob(step, (key,)), answers=answers)
    text = stablehlo_compiler.format_text(path.read_bytes())

    assert 1 == text.count("func.func private @_threefry_split")


def test_repeated_tpu_is_compiled_once(stub: str) -> None:
    """Two names of one TPU are asked for once, in the order they came."""
    names = ("v6e-8", "v5litepod-8", "V5E-8", "v6e-8")
    rehearsal = Rehearsal(RehearsalRequest(ids=("jax.every_device",), compiler=stub, tpus=names))

    assert ["v6e-8", "v5e-8"] == [topology.name for topology in rehearsal.topologies]


def test_origin_of_error_decides_its_status(stub: str) -> None:
    """JAX's own errors are refusals, and a time-out ends the programs after it."""
    found = lower(stub, "broken", "v5e-8", "v6e-8", timeout_s=20.0)
    told = {exported.program: (exported.refused, exported.error or "") for exported in found}

    assert [(True, "no_rule")] == [(one[0], name) for name, one in told.items() if one[0]]
    assert "NotImplementedError: this kind of attention" in told["not_written"][1]
    assert told["no_words"][1].endswith(
        "AssertionError without a message, raised by `assert x.shape == (3,)`"
    )
    assert told["cannot_say"][1].endswith("Unspeakable: no message that can be shown")
    assert "not lowered within 20 s, so nothing after it was tried" == told["sleeps"][1]
    assert "never_reached" not in told
    assert {("v5e-8", "v6e-8")} == {exported.tpus for exported in found}


def test_static_arguments_are_held_fixed_while_lowering(stub: str) -> None:
    """A `jit` of a library's own, and a plain function, with a function among the arguments."""
    wrapped, plain = lower(stub, "wrapped")

    assert (None, None) == (wrapped.error, plain.error)
    assert [2, 3] == [len(one.source["lowered"]["free_arguments"]) for one in (wrapped, plain)]
    assert "what it donates is not seen here" in wrapped.notes[0]
    assert () == plain.notes


def test_script_that_queries_platform_gets_tpu(stub: str) -> None:
    """A traced call compiles the TPU's branch, runs the CPU's, and the report names both."""
    rehearsal = rehearse(stub, script=(str(BAD / "script_asks.py"),))
    titles = [result["program"] for result in rehearsal.results]

    assert rehearsal.script_error is None
    assert ("script_asks.py:6",) == rehearsal.device_query_places
    assert {"traced": 1, "asks": 1, "never": 0} == {
        one.name: one.calls for one in rehearsal.functions if one.name != "again"
    }
    assert [ANSWERED] == next(
        one["notes"] for one in rehearsal.results if one["program"] == "asks(f32[8,8])"
    )
    assert "again(f32[8,8])" in titles
    assert "again(f32[8,8]) at script_asks.py:29" in titles


LIBRARY = """
import jax
helper = jax.jit(lambda x: x)
used = jax.jit(lambda x: x)
"""


def test_uncalled_library_functions_are_left_out(tmp_path: Path, stub: str) -> None:
    """A library jits much when it is imported; its functions count once they are called."""
    library = tmp_path / "lib/site-packages/a_library.py"
    library.parent.mkdir(parents=True)
    library.write_text(LIBRARY)
    script = tmp_path / "train.py"
    script.write_text(
        f"import sys; sys.path.append({str(library.parent)!r})\nimport a_library\n"
        "a_library.used(1.0)\n"
    )
    rehearsal = rehearse(stub, script=(str(script),))

    assert [("a_library.py:4", 1)] == [
        (Path(one.where).name, one.calls) for one in rehearsal.functions
    ]


SCRIPTS = {
    # what it does: its text, the words of the report
    "missing module": ("import a_module_that_is_missing", "ModuleNotFoundError: No module named"),
    "failed assert": ("import jax\nassert jax is None", "raised by `assert jax is None`"),
    "only eager work": ("import jax.numpy as jnp\njnp.ones(3) + 1", "nothing to compile"),
    "nothing": ("", "nothing to compile"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_without_jit_ends_with_its_error(name: str, tmp_path: Path, stub: str) -> None:
    """A script without jit gives its own error and its Python, for one TPU and for many."""
    from tpustarter.rehearsal.text import rehearsal_text

    text, words = SCRIPTS[name]
    script = tmp_path / "train.py"
    script.write_text(text + "\n")
    for names in (("v5e-8",), ("v5e-8", "v6e-8")):
        rehearsal = rehearse(stub, script=(str(script),), tpus=names)
        report = " ".join(rehearsal_text.render_rehearsal(rehearsal).split())

        assert 3 == rehearsal.exit_code
        assert words in report
        assert (str(rehearsal.script_python) in report) == ("nothing to" not in words)


CONSTANT = """
import jax, jax.numpy as jnp
table = {"rows": jnp.ones((40, 1024, 1024))}
def step(x):
    return x @ table["rows"][3] + table["rows"].sum()
"""


def test_large_constant_is_named_before_compilation(tmp_path: Path, stub: str) -> None:
    """The warning about a large constant comes before compilation and is in the result."""
    file = tmp_path / "train.py"
    file.write_text(CONSTANT)
    request = RehearsalRequest(
        ids=(f"{file}:step",),
        arguments=("f32[1024,1024]",),
        tpus=("v5e-8",),
        compiler=stub,
        python=sys.executable,
    )
    rehearsal = Rehearsal(request)
    events = list(rehearsal.events())
    (warned,) = [event for event in events if isinstance(event, ProgramWarning)]
    (result,) = rehearsal.results
    words = "it captures 160 MiB of constants, `table['rows']` f32[40,1024,1024]: the compiler may"

    assert "step" == warned.program
    assert warned.text.startswith(words)
    assert [warned.text] == result["notes"]
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("ProgramWarning") < kinds.index("RehearsalAnswer")


HUNGRY = """
import time
import jax
def step(x):
    taken = bytearray(512 * 2**20)  # pages of zeros are resident once they are written
    time.sleep(600)  # until it is ended
    return x
def programs(devices):
    x = (jax.ShapeDtypeStruct((8,), "float32"),)
    yield "fine", lambda x: x, x
    yield "hungry", step, x
"""


def test_process_over_memory_limit_is_ended(tmp_path: Path, stub: str) -> None:
    """A process over its memory limit is ended early, and what it had lowered still counts."""
    file = tmp_path / "train.py"
    file.write_text(HUNGRY)
    rehearsal = rehearse(stub, ids=(str(file),), memory_limit_bytes=GIB // 2)
    told = {one["program"]: (one["status"], one["reason"] or "") for one in rehearsal.results}

    assert "compiles" == told["fine"][0]
    assert "error" == told["hungry"][0]
    assert "this machine's memory: a rehearsal may take 0.50 GiB in all" in told["hungry"][1]
    assert 3 == rehearsal.exit_code


FORGED = [
    {"event": "exported"},
    {"event": "exported", "program": "x", "tpus": 3, "notes": []},
    {"event": "exported", "program": "x", "tpus": [], "notes": [], "artifact": "", "lowered": 1},
    {"event": "lowering"},
    {"event": "warning"},
    {"event": "called", "function": {"name": 1}},
    {"event": "end"},
    {"event": "promoted"},
]


@pytest.mark.parametrize("forged", FORGED, ids=json.dumps)
def test_forged_event_of_user_code_is_no_verdict(
    forged: dict[str, Any], stub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that user code forges, in a file or a script, ends it as inconclusive at most."""
    monkeypatch.setenv("FORGED", json.dumps(forged))
    file = str(BAD / "forges.py")
    for asked in ({"ids": (file,)}, {"script": (file,)}):
        code = rehearse(stub, **asked).exit_code
        # A file says itself which program it lowers: one more costs nothing.
        assert code == (0 if forged == {"event": "lowering"} and "ids" in asked else 3)


MEMINFO = "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n"
MACHINES = {
    # files of the machine: bytes that are available
    "no groups": ({"proc/meminfo": MEMINFO}, 4096000000),
    "nothing": ({}, None),
    "a container": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "1000\n",
            "sys/fs/cgroup/memory.current": "700\n",
            "sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 100\n",
        },
        400,
    ),
    "no limit": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/memory.max": "max\n",
        },
        4096000000,
    ),
    "the limit of a parent": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/memory.max": "500\n",
            "sys/fs/cgroup/a/memory.current": "700\n",
        },
        0,
    ),
    "the first version": (
        {
            "proc/self/cgroup": "5:cpu,memory:/a\n",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "90\n",
            "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "60\n",
        },
        30,
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_available_memory_is_read_from_system(name: str, tmp_path: Path) -> None:
    """The available memory is that of the machine, or less where a container has a limit."""
    files, expected = MACHINES[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    assert expected == available_memory_bytes(Machine(tmp_path, {}))
