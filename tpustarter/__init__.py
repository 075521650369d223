"""Onboarding tutorial and self-check for Google Cloud TPUs.

The map, and who may import whom:

    __main__    picks a front end and is the one place that shows errors
    cli/        one file per command; click is used here, and where errors are shown
    tui/        the full-screen app; the only user of textual
    selfcheck   from a bare machine to a verdict, as one stream of events
    plan        what will happen on this machine, and why
    runner      runs checks in probes, streams their events, times out, stops them
    outcomes    how one check ended, judged from what its process said or did
    process     one supervised process: started, talked to, listened to, ended
    report/     results, verdict, and every way to show them
    setup       makes an environment step by step: steps (what is left), command (runs one),
                environment (whose folder it is), profiles (what each is for), proof (that it works)
    lesson      one lesson's process: runs its blocks and judges them; practice runs many
    blocks      reads a lesson's blocks and what they should print; lint says what is wrong there
    rehearsal   compiles programs for TPUs that are not there: compiler (one process of it),
                own_code (the user's file or script), answers (kept for the next time),
                memory_report (what filled the memory), api (`tpustarter.rehearse`)
    progress    what the learner has done so far
    content     reads checks/ and lessons/ without executing them
    interpreters, locations, state, lease, problem      small facts the above stand on
    probe/      runs inside the Python under test; standard library only
    host, tpus  facts about this machine and about TPUs; standard library only

Rules that hold everywhere (tests/test_rules.py proves each of them):

* This process never imports a framework, NumPy or a check. Checks are read with `ast`.
* probe/, host and tpus need nothing but Python 3.10: they travel as one zip file.
* No run outlives its reason, and looking at the machine changes nothing on it.
* Whatever comes from a device, a log or a lesson is text, never markup.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tpustarter.api import Answer

__version__ = "0.1.0"


def rehearse(function: Any, *arguments: Any, tpu: str, **options: Any) -> Answer:
    """Compile a function for a TPU that is not there, and return what the compiler says.

    For a test of your own: `assert tpustarter.rehearse(step, params, batch, tpu="v6e-8").compiles`.
    The function is lowered in this process, on whatever devices JAX has here, and compiled in
    another one that has libtpu; `tpustarter setup rehearse` makes its environment.

    Args:
        function: A function of arrays, jitted or plain; it is not run.
        arguments: Arrays, `jax.ShapeDtypeStruct`s or pytrees of them. Shardings over a mesh of
            as many devices as the TPU has are kept.
        tpu: Its type, such as `v5e-8`.
        options: `compiler`, the Python that has JAX and libtpu; `timeout_s`; what is left is
            given to the function by name.

    Raises:
        Problem: there is no compiler here, or no such TPU. What the function raises while it is
            traced is raised as it is.
    """
    from tpustarter.api import rehearse as answer

    return answer(function, *arguments, tpu=tpu, **options)
