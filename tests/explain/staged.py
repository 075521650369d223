"""One failure from end to end, inside the namespaces that its row asks for.

    python -m tests.explain.staged ROW.json

Runs the program of the row, gives its output to `tpustarter explain` before and after a look at
this machine, does what that says, and runs the program again. Prints one JSON document.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.processes import HANG_S

EXPLAIN = [sys.executable, "-m", "tpustarter", "explain"]
CHANGES = ("env", "limit_s", "program", "run", "setup")
"""What of a row its fix may have otherwise."""
COMMAND = re.compile(r"`([^`]+)`")
ANSWERS = 5
"""How often `--fix` is answered with yes."""


def environment(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a row; an empty one is not set."""
    python = Path(row["python"])
    made = {**os.environ, "PYTHON": str(python), "VIRTUAL_ENV": str(python.parent.parent)}
    made["PATH"] = f"{python.parent}:{made['PATH']}"
    for name, value in row.get("env", {}).items():
        made[name] = str(value).replace("$WORK", row["folder"])
        if value in (None, ""):
            del made[name]
    return made


def prefix(row: Mapping[str, Any]) -> list[str]:
    """Return the words of the command that lowers the rights of the program and of `explain`."""
    return str(row.get("as", "")).split()


def run(row: Mapping[str, Any], log: Path, before: str = "") -> int:
    """Run the program of a row as a user does, into a log; return how it ended."""
    folder = Path(row["folder"])
    (folder / "train.py").write_text(row.get("program", ""))
    shell = f"{row.get('setup', '')}\n{before}\n{row.get('run', '$PYTHON train.py')}"
    with log.open("wb") as out:
        started = subprocess.Popen(
            [*prefix(row), "sh", "-c", shell],
            cwd=folder,
            env=environment(row),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return started.wait(row.get("limit_s", 120))
        except subprocess.TimeoutExpired:
            return 124  # what hangs is ended, as its user would
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGTERM)
            try:
                started.wait(HANG_S)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


def explained(row: Mapping[str, Any], log: Path, *options: str) -> dict[str, Any]:
    """Return the JSON document that `explain` prints for a log."""
    done = subprocess.run(
        [*prefix(row), *EXPLAIN, str(log), "--json", *options],
        cwd=row["folder"],
        env=environment(row),
        capture_output=True,
        text=True,
        check=False,
    )
    document = json.loads(done.stdout)
    assert "matches" in document, f"{document}\n{done.stderr}"
    return document


def place(document: Mapping[str, Any], name: str) -> tuple[int, Mapping[str, Any]]:
    """Return the rank of a failure in a document, from 1, and its match; 0 if it's missing."""
    for number, match in enumerate(document["matches"], 1):
        if match["id"] == name:
            return number, match
    return 0, {}


def fix_by_explain(row: Mapping[str, Any], log: Path) -> str:
    """Run `explain --fix` on a terminal and answer yes; return the output."""
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [*EXPLAIN, str(log), "--fix"],
        cwd=row["folder"],
        env={**environment(row), "UV_LINK_MODE": "copy"},
        stdin=inside,
        stderr=inside,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(inside)
    os.write(terminal, b"y\n" * ANSWERS)
    said = b""
    with contextlib.suppress(OSError):  # the terminal ends with the program
        while data := os.read(terminal, 1 << 16):
            said += data
    process.wait(300)
    os.close(terminal)
    return said.decode("utf-8", "replace")


def command_in(fix: str, says: str = "") -> str:
    """Return the command of the printed fix that contains a text."""
    found = [command for command in COMMAND.findall(fix) if says in command]
    return found[0] if found else fix


def follow(row: dict[str, Any], match: Mapping[str, Any], log: Path) -> dict[str, Any]:
    """Apply the suggested fix and run the program again; return the outcome."""
    fix = row["fix"]
    by, says = fix["by"], str(fix.get("says", ""))
    if by == "--fix":
        said = fix_by_explain(row, log)
        shown = next((line for line in said.splitlines() if says in line and line.strip()), "")
        done = {"did": f"`--fix`: {' '.join(shown.split())}", "here": "no longer so" in said}
        before = ""
    else:
        said = "\n".join(match["fix"])
        shown = next((one for one in match["fix"] if says in one), "")
        assert shown, f"{row['id']}: no printed fix holds {says!r}:\n{said}"
        before = command_in(shown, says) if by == "command" else ""
        done = {"did": f"{by}: {before or shown}"}
        if before.startswith("sudo "):  # this is root already, whatever the program may
            subprocess.run(["sh", "-c", before.removeprefix("sudo ")], check=True)
            before = ""
    changed = row | {name: fix[name] for name in CHANGES if name in fix}
    again = log.with_name("again.log")
    code = run(changed, again, before)
    now = explained(changed, again, "--no-look")
    first = now["matches"][0]["id"] if now["matches"] else ""
    is_gone = not place(now, row["id"])[0]
    then = fix.get("then", "")
    # Where the chips are missing, the next thing to fail shows that this one no longer does.
    works = is_gone and (first == then if then else code == 0)
    return done | {"code": code, "then": first, "works": works, "end": end_of(again), "said": said}


def end_of(log: Path) -> str:
    """Return the end of a log, for whoever asks why a row failed."""
    return log.read_text("utf-8", "replace")[-1500:]


def main() -> None:
    """Run one row."""
    row = json.loads(Path(sys.argv[1]).read_text())
    log = Path(row["folder"]) / "output.log"
    code = run(row, log)
    seen = explained(row, log)
    rank, match = place(seen, row["id"])
    # Where the look changed nothing, reading alone said the same.
    read = explained(row, log, "--no-look") if match.get("here") else seen
    said = {
        "id": row["id"],
        "code": code,
        "rank": rank,
        "read": place(read, row["id"])[1].get("confidence", ""),
        "seen": match.get("confidence", ""),
        "here": match.get("here") or "",
        "quote": match.get("quote", ""),
        "all": [one["id"] for one in seen["matches"]],
        "end": end_of(log),
    }
    if match and "fix" in row:
        said["fixed"] = follow(row, match, log)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
