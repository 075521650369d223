"""Runs the debug program under variables, and compares the effect of each."""

import json
import os
import subprocess
import sys

LIMIT_S = 120
"""Seconds for one process; most of them go into importing torch_xla."""


def facts_of(source, variables, folder):
    """Return the facts that the program printed under these variables, and the files it left."""
    program = folder / "program.py"
    program.write_text(source, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if name not in ALL}
    env |= {name: value.format(folder=folder) for name, value in variables.items()}
    command = [sys.executable, str(program)]
    ended = subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if ended.returncode:
        sys.stderr.write(ended.stderr)
        raise RuntimeError(f"the program ended with {ended.returncode} under {sorted(variables)}")
    facts = json.loads(ended.stdout.splitlines()[-1])
    said = ended.stdout + ended.stderr
    notices = [name for name in variables if f"{name} will be deprecated" in said]
    files = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path != program}
    return facts | {"notices": notices, "files": files}


ALL = (
    "XLA_USE_BF16", "XLA_USE_32BIT_LONG", "GET_TENSORS_OPBYOP", "SYNC_TENSORS_OPBYOP",
    "XLA_IR_DEBUG", "XLA_HLO_DEBUG", "XLA_SAVE_TENSORS_FILE", "XLA_SAVE_TENSORS_FMT",
    "XLA_METRICS_FILE", "XLA_SYNC_WAIT",
)  # fmt: skip
"""The variables of the old guide, none of which may come from the user's environment."""


def table(facts):
    """Yield for each variable its effect, its effect in 2.9.0, and the advice."""
    plain, graph, types = facts["plain"], facts["graph"], facts["types"]
    notice = ", with a notice that it is deprecated"

    def told(variable):
        return notice if variable in types["notices"] else ""

    found = f"{types['float']}, 1/3 is {types['third']:.6f}{told('XLA_USE_BF16')}"
    expected = f"bf16 in the HLO, float32 in dtype, 1/3 is 0.333984{notice}"
    yield "XLA_USE_BF16", found, expected, "bfloat16"
    found = f"{types['long']}, 2**40 + 7 is {types['large']}{told('XLA_USE_32BIT_LONG')}"
    expected = f"s32 in the HLO, int64 in dtype, 2**40 + 7 is 7{notice}"
    yield "XLA_USE_32BIT_LONG", found, expected, "int32"
    text = "{} executions at once, {} by the sync".format
    found = text(graph["executions before the sync"], graph["executions by the sync"])
    yield "SYNC_TENSORS_OPBYOP", found, text(0, 1), "eager"
    text = "{} execution to read three operations".format
    yield "GET_TENSORS_OPBYOP", text(graph["executions by reading"]), text(1), "eager"

    text = "your source lines in {}".format
    expected = text("the graph and the HLO, without it in neither")
    for variable, ran in (("XLA_IR_DEBUG", graph), ("XLA_HLO_DEBUG", types)):
        yield variable, text(lines(ran) + ", without it in " + lines(plain)), expected, None
    expected = "graphs.0, each graph appended"
    yield "XLA_SAVE_TENSORS_FILE", saved(graph["files"]), expected, None
    kinds = [kind(ran["files"]) for ran in (graph, plain, types)]
    text = "text is {}, dot {}, hlo {}".format
    yield "XLA_SAVE_TENSORS_FMT", text(*kinds), text("IR", "digraph", "HloModule"), None
    reports = graph["files"].get("metrics", "").count("[MetricsData; step=")
    text = "a report at each of {} syncs".format
    yield "XLA_METRICS_FILE", text(reports), text(3), None


def lines(facts):
    """Return the places where the program's source lines appeared."""
    places = [name for name in ("graph", "HLO") if facts[f"lines in the {name}"]]
    return " and ".join(f"the {name}" for name in places) or "neither"


def saved(files):
    """Return the name of the file of graphs, and whether all graphs were written to it."""
    names = sorted(name for name in files if name.startswith("graphs"))
    several = all(files[name].count("## BEGIN_GRAPH") > 1 for name in names)
    return f"{', '.join(names) or 'no file'}, " + (
        "each graph appended" if several else "one graph"
    )


def kind(files):
    """Return the first word of the first graph that was saved."""
    text = "".join(text for name, text in sorted(files.items()) if name.startswith("graphs"))
    words = text.partition("## BEGIN_GRAPH")[2].split()
    return words[0] if words else "nothing"
