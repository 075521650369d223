"""`subprocess.run` waits for its command. Which function starts one and
returns at once?

Start all commands in a first loop with `subprocess.Popen(command,
stdout=subprocess.PIPE, text=True)`, and wait for them in a second one.

`process.communicate(timeout=...)` raises `subprocess.TimeoutExpired`. Then
call `process.kill()`, and `communicate()` once more for what was printed.

All commands share one end, `time.monotonic() + limit`. What is left of it
is the timeout of each. The worst exit code is the largest one.

Learned: Start all workers before you wait for one, and report the worst
exit code, because a job on a slice has failed if one worker has.
"""

import subprocess
import sys
import tempfile
import time


def run_on_all(commands, limit):
    """Return `(outputs, worst)` of the commands, in their order.

    An output is a text without spaces and line breaks at its ends.
    """
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    end = time.monotonic() + limit
    outputs = []
    worst = 0
    for process in started:
        try:
            left = max(0, end - time.monotonic())
            output, _ = process.communicate(timeout=left)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            code = 124
        outputs.append(output.strip())
        worst = max(worst, code)
    return outputs, worst
