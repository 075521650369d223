"""The last line of a rehearsal: what is compiled, what it came to, and which key leads on."""

from __future__ import annotations

from tpustarter.problem import Problem
from tpustarter.rehearsal import verdict
from tpustarter.rehearsal.compiler import Working
from tpustarter.rehearsal.own_code import is_code
from tpustarter.rehearsal.progress import BAR, Progress
from tpustarter.rehearsal.request import Request
from tpustarter.terminal import visible
from tpustarter.tui.rehearsal_table import Answers

PARTING = 10
"""Columns that the program and its TPU need more than what a check run says."""
NOTHING_RUN = "Nothing is run on a TPU."
_CHANGE = "Press e to change the arguments"
"""Which key leads back to the arguments of a function of the learner's."""


def is_own(request: Request) -> bool:
    """Tell a program of the learner's from checks."""
    return bool(request.script) or is_code(request.ids[0])


def while_it_runs(
    job: Working | None, answers: Answers, progress: Progress | None, seconds: float, width: int
) -> str:
    """Return what is waited for.

    Args:
        job: What is compiled now; None before the compiler has answered.
        answers: What is known already.
        progress: How far the rehearsal is; None before there is one.
        seconds: How long the rehearsal has taken.
        width: The columns of the screen, of which a bar has a third where that is much.
    """
    if job is None:
        return f"starting the compiler, {seconds:.0f} s. {NOTHING_RUN}"
    if job.tpu not in answers.tpus:
        return f"lowering your code, {job.seconds:.0f} s. {NOTHING_RUN}"
    far = ""
    if progress and (text := progress.text()):
        far = f"{progress.bar(cells=max(BAR, width // 3 - PARTING))}  {text}; "
    return visible(f"{far}{job.program} for {job.tpu}, {job.seconds:.0f} s. {NOTHING_RUN}")


def at_the_end(answers: Answers, request: Request, *, stopped_of: int | None) -> str:
    """Return what it came to; where it was stopped, of how much there was to do."""
    order = answers.tpus.index
    results = sorted(answers.results, key=lambda result: order(result["tpu"]))
    own, script = is_own(request), bool(request.script)
    return verdict.headline(results, own=own, script=script, stopped_of=stopped_of)


def of_problem(problem: Problem, request: Request) -> str:
    """Return why nothing was compiled; where no hint follows, the arguments may be the reason."""
    may_change = request.arguments and not problem.hint
    return f"{problem}\n{_CHANGE}." if may_change else str(problem)


def what_to_press(answers: Answers, request: Request, *, stopped: bool, compares: bool) -> str:
    """Say which key leads on after a rehearsal.

    Args:
        answers: What it came to.
        request: What was asked for.
        stopped: Whether it was stopped.
        compares: Whether the TPUs stand beside each other without a key.
    """
    came_to = {str(result["status"]) for result in answers.results}
    if stopped:
        return "It was stopped. Press r to go on; what was compiled already is stored."
    if came_to & {"error", "refused"} or (request.script and not came_to):
        if request.arguments:  # JAX names a line of the file also where these are wrong
            return f"{_CHANGE}, or mend your file and press r to start again."
        return "Once it is mended, press r to start again."
    if not came_to:
        return "Press Esc to choose a TPU with more devices."
    if "does-not-fit" in came_to and len(answers.tpus) > 1 and not compares:
        return "Press c to compare the TPUs."
    if "does-not-fit" in came_to and "compiles" in came_to and is_own(request):
        return "Make it smaller, or press Esc twice and then u to get a TPU that holds it."
    if "does-not-fit" in came_to and request.arguments:
        return f"{_CHANGE}, or Esc to choose a TPU with more memory."
    if "does-not-fit" in came_to:
        return "Press Esc to choose smaller arrays, or a TPU with more memory."
    if is_own(request):
        return "To get such a TPU, press Esc twice and then u."
    return "Press Esc to choose other programs, such as one of your own."
