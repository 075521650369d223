"""Fakes uv, python3.12 and pip, which write the same files without a network.

    tools = lay_tools(tmp_path / "tools", uv=True)
    behave(tools, venv={"say": "no space left on device", "code": 1})

Each program records its verb in `calls`, its process id in `pid` and its environment in `env.json`.
Then it does what `behave.json` lists for the verb (`python`, `venv` or `pip`): print something,
sleep, exit with a code.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.places import REPOSITORY

BESIDE = ("keras", "notebook", "xprof", "tensorboard")
"""Packages that set-up looks for and that have no stub."""
PROGRAM = """#!{python}
import sys
sys.path.insert(0, {here!r})
from tests.support.fake_tools import main
from pathlib import Path
main({name!r}, Path({tools!r}))
"""


def lay_tools(folder: Path, *, uv: bool = False, python: bool = False, **stub: Any) -> Path:
    """Create a folder for PATH with the requested programs.

    `stub` describes their JAX; with `compiler=True`, a stub of libtpu that compiles is installed
    with it.
    """
    folder.mkdir(parents=True)
    (folder / "stub.json").write_text(json.dumps({"jax": "0.12.0.1", **stub}))
    (folder / "calls").write_text("")
    behave(folder)
    for name, wanted in (("uv", uv), ("python3.12", python)):
        if wanted:
            _write(folder / name, name, folder)
    return folder


def behave(folder: Path, **verbs: Any) -> None:
    """Set the programs' behaviour; without arguments they work."""
    (folder / "behave.json").write_text(json.dumps(verbs))


def calls(folder: Path) -> list[str]:
    """Return the verbs of all calls to the programs."""
    return (folder / "calls").read_text().split()


def _write(path: Path, name: str, tools: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"python": sys.executable, "here": str(REPOSITORY), "name": name, "tools": str(tools)}
    path.write_text(PROGRAM.format(**fields))
    path.chmod(0o755)


def main(name: str, tools: Path) -> None:
    """Act as one of the programs."""
    words = sys.argv[1:]
    verb = {"uv": words[0], "pip": "pip"}.get(name) or words[1]
    with (tools / "calls").open("a") as file:
        file.write(f"{verb}\n")
    (tools / "pid").write_text(str(os.getpid()))
    (tools / "env.json").write_text(json.dumps(dict(os.environ)))
    does = json.loads((tools / "behave.json").read_text()).get(verb, {})
    sys.stdout.buffer.write(does.get("say", f"{verb} works\n").encode("latin-1"))
    sys.stdout.flush()
    if does.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if verb != "python" and does:  # half of its work
        half = prefix_of(verb, words) / "bin" / "half"
        half.parent.mkdir(exist_ok=True)
        half.write_text("half")
    time.sleep(does.get("sleep", 0))  # a test can make it hang
    if does.get("signal"):
        os.kill(os.getpid(), does["signal"])
    if does.get("code", 0):
        sys.exit(does["code"])
    work(verb, words, tools)


def prefix_of(verb: str, words: list[str]) -> Path:
    """Return the environment that a program changes."""
    if verb == "venv":
        return Path(words[-1])
    return (
        Path(words[words.index("--python") + 1]).parents[1]
        if words[0] == "pip"
        else (Path(sys.prefix))
    )


def work(verb: str, words: list[str], tools: Path) -> None:
    """Do the work of the program."""
    from tests.support.stub_compiler import make_compiler
    from tests.support.stubs import make_python

    if verb == "python":
        kept = Path(os.environ["HOME"], ".local/share/uv/python/cpython-3.12.1-linux/bin")
        _write(kept / "python3.12", "python3.12", tools)
    elif verb == "venv":
        python = make_python(Path(words[-1]))
        (packages,) = python.parents[1].glob("lib/python3*/site-packages")
        _write(packages / "pip" / "__main__.py", "pip", tools)
    else:
        prefix = prefix_of(verb, words)
        for claimed in prefix.glob("lib/python3*/site-packages/*.dist-info"):
            shutil.rmtree(claimed)
        stub = json.loads((tools / "stub.json").read_text())
        compiles = stub.pop("compiler", False)
        if "[tpu]" not in words[-1]:
            stub.pop("libtpu", None)
        elif compiles:
            make_compiler(prefix)
            return
        make_python(prefix, **stub)
        (packages,) = prefix.glob("lib/python3*/site-packages")
        for name in words[-4:]:  # for packages next to a framework, the name is enough
            if name in BESIDE:
                (packages / f"{name}-1.0.dist-info").mkdir()
