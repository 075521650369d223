"""Onboarding tutorial and self-check for Google Cloud TPUs.

The map. A package imports only from those below it, and no two modules import each
other, also not inside a function or for a type (`python tests/structure.py` shows it):

    __main__    picks a front end, and is the one place that shows errors
    cli/        a file or a folder per command; click is used here, and where errors are shown
    tui/        the full-screen app, a folder per feature, alone in importing textual; it and cli
                never import each other
    agents/     for coding agents: the tools of the MCP server, and instructions to read
    serving/    the app and notebooks in a browser: servers on loopback, and the way to them
    setup/      makes an environment step by step, proves that it works, and takes it back
    cloud/      gets TPUs and gives them back; alone in importing google's client
    slices/     one verdict for many hosts: starts the run on them, and merges what they send
    report/     the bug report: what maintainers ask for, without a name in it
    reproducing/ one file that fails as a check or a block did, and what changes that
    explain/    why a run broke: reads its log, and looks at the machine
    planning/   arithmetic on a model's config.json: what it needs on each TPU
    rehearsal/  compiles programs for TPUs that are not there
    watch/      what a running TPU does, as libtpu measures it, and what the numbers mean
    learning/   lessons: content, drawings, progress, run, search and lint
    checking/   the self-check: plan, runner, outcomes, results, verdict, and every way to show them
    running/    supervised processes: start, listen, end; the device's lease; the probe's archive
    core/       problems, state, locations, cache, content, redaction
    text/       terminal, invocation, phrases, short ids, bars
    probe/      what runs inside the Python under test; standard library only
    machine/    facts about this machine and about TPUs; standard library only
    ground      at the root, for hatch and the probe read it there:
                version

Rules that hold everywhere (tests/rules/test_rules.py proves each of them):

* This process never imports a framework, NumPy or a check. Checks are read with `ast`.
* probe/ and machine/ need nothing but Python 3.10: with the checks they travel as one zip file.
* No run outlives its reason, and looking at the machine changes nothing on it.
* Whatever comes from a device, a log or a lesson is text, never markup.
"""

from __future__ import annotations

from tpustarter.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tpustarter.rehearsal.api import CompilerAnswer


def rehearse(
    function: Callable[..., object], *arguments: object, tpu: str, **options: Any
) -> CompilerAnswer:
    """Compile a function for a TPU that is not there, and return what the compiler says.

    For a test of your own: `assert tpustarter.rehearse(step, params, batch, tpu="v6e-8").compiled`.
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
    from tpustarter.rehearsal.api import rehearse as answer

    return answer(function, *arguments, tpu=tpu, **options)
