"""Run a command on all workers.

Write `run_on_all`, which runs one command for each worker and returns what
all of them printed, and the worst exit code. All commands must run at the
same time, because a program on a slice ends on no worker before it has met
the others. A command that takes longer than `limit` seconds is ended and
counts as exit code 124, and it must not keep you waiting for longer.
"""

import subprocess
import sys
import tempfile
import time


def run_on_all(commands, limit):
    """Return `(outputs, worst)` of the commands, in their order.

    An output is a text without spaces and line breaks at its ends.
    """
    outputs = []
    worst = 0
    for command in commands:  # your code here
        done = subprocess.run(command, capture_output=True, text=True)
        outputs.append(done.stdout.strip())
        worst = done.returncode
    return outputs, worst


# Judged below: leave this part as it is.

MEET = """
import sys, time
from pathlib import Path
folder, me, workers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
(folder / me).touch()
end = time.monotonic() + 60
while len(list(folder.iterdir())) < workers:
    if time.monotonic() > end:
        sys.exit("the other workers were never started")
    time.sleep(0.02)
print("worker", me, "met the others")
"""


def python(program, *arguments):
    return [sys.executable, "-c", program, *arguments]


def judge(name, commands, limit, outputs, worst):
    found, code = run_on_all(commands, limit)
    message = f"{name}: found the outputs {found}, expected {outputs}"
    assert list(found) == outputs, message
    message = f"{name}: found the exit code {code}, expected {worst}"
    assert code == worst, message


say = "print('fine')"
judge("two workers", [python(say), python(say)], 90, ["fine", "fine"], 0)
fails = "print('bad'); raise SystemExit(3)"
judge("worker 0 fails", [python(fails), python(say)], 90, ["bad", "fine"], 3)
mild = "raise SystemExit(2)"
commands = [python(mild), python(fails), python(mild)]
judge("three codes", commands, 90, ["", "bad", ""], 3)
slow = "print('begun', flush=True); import time; time.sleep(60)"
commands = [python(slow), python(say), python(slow)]
judge("two hang", commands, 3, ["begun", "fine", "begun"], 124)
with tempfile.TemporaryDirectory() as folder:
    workers = [python(MEET, folder, str(n), "3") for n in range(3)]
    met = [f"worker {n} met the others" for n in range(3)]
    judge("three that meet", workers, 90, met, 0)
print("all at the same time, and the worst code of all")
