"""Produces real failures of TPU work without a TPU: explains, fixes and checks each again.

    python -m tests.explain.produce [ID ...] [--list] [--only needs] [--verbose]

The rows are in `produced/*.yml`. Each is a real program that fails for the real reason, on this
machine, on a machine faked with namespaces (`tests/support/fake_tpu_vm.py`) or in an environment
that is made for it. Prints a table; ends with 1 where one is not explained first or not mended.

What a row needs: `jax` (the Python that runs this), `libtpu` (TPUSTARTER_LIBTPU_PYTHON, with
jax[tpu]), `torch_xla` (TPUSTARTER_TORCH_XLA_PYTHON), `root` (with Linux namespaces), `index` (uv,
the Python it names, and a package index). What is missing here is said in a sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.needs import can_fake
from tests.support.places import REPOSITORY, SUPPORT

FOLDER = Path(__file__).with_name("produced")
FAKE_VM = SUPPORT / "fake_tpu_vm.py"
VARIABLES = {"libtpu": "TPUSTARTER_LIBTPU_PYTHON", "torch_xla": "TPUSTARTER_TORCH_XLA_PYTHON"}
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "UV_", "PIP_", "SSL_", "PYENV_", "http", "https", "no_p")
"""What of the caller's variables a row sees, by how their names begin."""
LIMIT_S = 400
"""What a row may take from end to end, its installations included."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Produced:
    """A row and its outcome."""

    row: Row
    said: Mapping[str, Any]
    broken: str = ""
    """What went wrong before anything could be explained."""

    @property
    def is_right(self) -> bool:
        """Return whether it failed, was explained first, and was fixed where a fix is possible."""
        fixed = self.said.get("fixed")
        is_explained = not self.broken and self.said.get("rank") == 1
        return is_explained and (fixed is None or bool(fixed["works"] or fixed.get("here")))


def read(folder: Path = FOLDER) -> list[Row]:
    """Return all rows, those of one file together."""
    return [
        row for file in sorted(folder.glob("*.yml")) for row in yaml.safe_load(file.read_text())
    ]


def missing(row: Row) -> str:
    """Return the reason why a row can't run here, as a sentence; empty if it can."""
    for need in row.get("needs", ["jax"]):
        if need == "root" and not can_fake():
            return "It needs root and Linux namespaces, and they are not to be had here."
        if need in VARIABLES and not os.environ.get(VARIABLES[need]):
            return f"It needs a Python that has {need}, and {VARIABLES[need]} names none."
        if need == "index" and not shutil.which("uv"):
            return "It makes an environment with uv, and uv is not on PATH."
        if need in ("gcloud", "ssh") and not shutil.which(need):
            return f"It runs {need}, which is not on PATH."
    return ""


def python_for(row: Row, folder: Path) -> Path:
    """Return the Python of a row, which is made where the row names packages."""
    needs = row.get("needs", ["jax"])
    variable = next((VARIABLES[need] for need in needs if need in VARIABLES), None)
    if "packages" not in row:
        return Path(os.environ[variable]) if variable else Path(sys.executable)
    made = folder / "env"
    base = base_python(row.get("version", "3.12"))
    uv = shutil.which("uv") or "uv"
    commands = [[uv, "venv", "-q", "--python", base, str(made)]]
    into = ["-q", "--python", str(made / "bin" / "python")]
    for words in row["packages"]:
        verb = "uninstall" if words.startswith("uninstall ") else "install"
        commands.append([uv, "pip", verb, *into, *words.removeprefix("uninstall ").split()])
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    return made / "bin" / "python"


def base_python(version: str) -> str:
    """Return a Python of this version: one that uv knows, or one that pyenv has installed."""
    words = ["uv", "python", "find", "--no-project", "--no-python-downloads", "--system", version]
    found = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
    if found.returncode == 0:
        return found.stdout.strip()
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return str(sorted(versions.glob(f"{version}.*/bin/python"))[-1])


def surroundings(folder: Path) -> dict[str, str]:
    """Return the variables that every row begins with, and a home of its own."""
    (folder / "home").mkdir()
    env = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    own = {"HOME": str(folder / "home"), "TPUSTARTER_HOME": str(folder / "home" / "state")}
    cache = {"UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv"))}
    python = {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
    return {**env, **own, **cache, **python, "PORT": port, "CLOUDSDK_CORE_DISABLE_PROMPTS": "1"}


def produce(row: Row) -> Produced:
    """Run a row from end to end."""
    with tempfile.TemporaryDirectory(prefix="tpustarter-produced-") as name:
        folder = Path(name)
        try:
            python = python_for(row, folder)
        except (subprocess.SubprocessError, IndexError, OSError) as error:
            why = getattr(error, "stderr", "") or str(error)
            return Produced(row, {}, f"its environment could not be made: {why.strip()[-300:]}")
        (folder / "work").mkdir()
        whole = row | {"python": str(python), "folder": str(folder / "work")}
        (folder / "row.json").write_text(json.dumps(whole))
        words = [sys.executable, "-m", "tests.explain.staged", str(folder / "row.json")]
        if "inside" in row:
            words = ["unshare", *row["inside"].split(), "--", *words]
        if "vm" in row:
            words = [sys.executable, str(FAKE_VM), row["vm"], "--", *words]
        try:
            done = subprocess.run(
                words,
                cwd=REPOSITORY,
                env=surroundings(folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Produced(row, {}, f"it did not end in {LIMIT_S} s")
        if done.returncode or not done.stdout.strip():
            return Produced(row, {}, done.stderr.strip()[-1500:] or "it said nothing")
        return Produced(row, json.loads(done.stdout.splitlines()[-1]))


HEAD = "| failure | produced by | explained | read → looked | fix | checked again |"


def line(one: Produced) -> str:
    """Return a row of the table."""
    row, said = one.row, one.said
    if one.broken:
        why = " ".join(one.broken.split())[-200:]
        return f"| {row['id']} | {row['how']} | **not produced**: {why} | | | |"
    others = ", ".join(name for name in said["all"] if name != row["id"]) or "nothing"
    place = {1: "first", 0: f"**not at all**: {others}"}
    explained = place.get(said["rank"], f"**{said['rank']}.** of {others}")
    sure = said["seen"] if said["seen"] == said["read"] else f"{said['read']} → **{said['seen']}**"
    if said["seen"] != "confirmed":
        sure += f" ({row.get('unconfirmed', 'no host check looks at it')})"
    fix, again = _mended(row, said)
    cells = (row["id"], row["how"], explained, sure, fix, again)
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _mended(row: Row, said: Mapping[str, Any]) -> tuple[str, str]:
    fixed = said.get("fixed")
    if fixed is None:
        return f"not fixable here: {row.get('unfixed', '?')}", ""
    if not fixed["works"] and not fixed.get("here"):
        return fixed["did"], f"**still fails**: {fixed['code']}, {fixed['then'] or 'nothing known'}"
    if fixed["works"] and row["fix"].get("then"):
        return fixed["did"], f"it is gone; without chips the next thing is {fixed['then']}"
    return fixed["did"], "the program runs" if fixed[
        "works"
    ] else "the check says it is no longer so"


def selected(names: list[str], only: str) -> Iterator[Row]:
    """Yield the rows that are asked for."""
    for row in read():
        needs = row.get("needs", ["jax"])
        if (not names or row["id"] in names) and (not only or only in needs):
            yield row


def main() -> int:
    """Run rows, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--only", default="", help="rows that need this, such as libtpu")
    parser.add_argument("--list", action="store_true", help="say what would run, and what cannot")
    parser.add_argument("--verbose", action="store_true", help="show the end of each output")
    options = parser.parse_args()
    rows = list(selected(options.ids, options.only))
    if options.list:
        for row in rows:
            print(f"{row['id']}: {missing(row) or row['how']}")
        return 0
    print(f"{HEAD}\n|{'---|' * 6}")
    done: list[Produced] = []
    for row in rows:
        if why := missing(row):
            print(f"{row['id']} was not produced. {why}", file=sys.stderr)
            continue
        done.append(produce(row))
        print(line(done[-1]), flush=True)
        if options.verbose:
            print(json.dumps(done[-1].said, indent=1), done[-1].broken, file=sys.stderr)
    print("\n" + figures(done))
    return 0 if done and all(one.is_right for one in done) else 1


def figures(done: list[Produced]) -> str:
    """Return a one-sentence summary of the table."""
    first = sum(one.said.get("rank") == 1 for one in done)
    confirmed = sum(one.said.get("seen") == "confirmed" for one in done)
    mended = sum(one.is_right and "fixed" in one.said for one in done)
    return (
        f"{len(done)} failures produced: {first} explained first, {confirmed} confirmed by a look "
        f"at the machine, {mended} mended and checked again."
    )


if __name__ == "__main__":
    sys.exit(main())
