"""Find the reason in an output.

`reason` gets everything that a program has printed. The error of a traceback
is the first line below `Traceback (most recent call last):` that isn't
indented. Take the first traceback, and return `(word, message)` of its
error:

* Leave out the name of the exception, up to the first colon and space.
* `word` is the word in capitals, such as "NOT_FOUND", that is followed by a
  colon, and `message` is what comes after it. If there is none, `word` is
  None, and `message` is the whole rest.
* Leave out advice at the end: ` (set JAX_PLATFORMS=...)`.

Return None if there is no traceback.
"""

import re


def reason(output):
    """Return (word, message) of the first error, or None."""
    last = output.strip().splitlines()[-1]
    return None, last.partition(": ")[2]  # your code here


# Judged below: leave this part as it is.

TYPE = """\
step 1: loss 0.5
Error: nothing serious
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    w @ x
TypeError: dot_general requires contracting dimensions to have the same shape
--------------------
For simplicity, JAX has removed its internal frames from the traceback.
"""
NO_CHIP = """\
Traceback (most recent call last):
  File "train.py", line 2, in <module>
    print(jax.devices())
          ^^^^^^^^^^^^^
  File "xla_bridge.py", line 867, in backends
    raise RuntimeError(err_msg)
RuntimeError: Unable to initialize backend 'tpu': NOT_FOUND: TPU init\
ialization failed: No jellyfish device found. (set JAX_PLATFORMS='' to auto\
matically choose an available backend)
"""
BUSY = """\
Traceback (most recent call last):
  File "xla_bridge.py", line 851, in backends
    backend = _init_backend(platform)
              ^^^^^^^^^^^^^^^^^^^^^^^
jax.errors.JaxRuntimeError: ABORTED: The TPU is already in use by process \
with pid 1537.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 2, in <module>
RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is busy.
"""
TOO_LARGE = """\
Traceback (most recent call last):
  File "train.py", line 40, in <module>
jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: \
Ran out of memory on HBM (15.75G)
"""
KEY = """\
Traceback (most recent call last):
  File "train.py", line 4, in <module>
    params["TPU"]
KeyError: 'TPU'
"""
CASES = {
    TYPE: (
        None,
        "dot_general requires contracting dimensions to have the same shape",
    ),
    NO_CHIP: (
        "NOT_FOUND",
        "TPU initialization failed: No jellyfish device found.",
    ),
    BUSY: ("ABORTED", "The TPU is already in use by process with pid 1537."),
    TOO_LARGE: (
        "RESOURCE_EXHAUSTED",
        "E1000: CompileTimeHbmOom: Ran out of memory on HBM (15.75G)",
    ),
    KEY: (None, "'TPU'"),
    "loading the checkpoint ...\nKilled\n": None,
    "step 1\nAll tests passed: no error\n": None,
}
for output, expected in CASES.items():
    found = reason(output)
    message = f"{output}\nfound {found!r}, expected {expected!r}"
    assert found == expected, message
print(len(CASES), "outputs, each with its reason")
