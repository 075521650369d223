"""The last line of a rehearsal: its progress, its headline, and the next key."""

from __future__ import annotations

from tpustarter.core.problem import Problem
from tpustarter.rehearsal.compile.compiler import CompileProgress
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.programs.user_program import names_python_code
from tpustarter.rehearsal.text import fit_text, rehearsal_headline
from tpustarter.rehearsal.text.rehearsal_progress import BAR, RehearsalProgress
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.rehearse.answer_table import RehearsalAnswers

PARTING = 10
"""Columns by which the text after the bar is longer than that of a check run."""
NOTHING_RUN = "Nothing is run on a TPU."
_CHANGE = "Press e to change the arguments"
"""The key that returns to the arguments of the user's function."""
_SEARCH = "Press b to search the largest batch that fits"


def is_user_program(request: RehearsalRequest) -> bool:
    """Return whether a user's program is rehearsed, rather than checks."""
    return bool(request.script) or names_python_code(request.ids[0])


def format_progress(
    job: CompileProgress | None,
    answers: RehearsalAnswers,
    progress: RehearsalProgress | None,
    seconds: float,
    width: int,
    *,
    runs_script: bool,
) -> str:
    """Return the progress of a running rehearsal.

    Args:
        job: The current compilation; None before the compiler has responded.
        answers: The answers so far.
        progress: The progress of the rehearsal; None before there is one.
        seconds: The seconds since the rehearsal began.
        width: The width of the screen in columns, a third of which is for the bar.
        runs_script: True if a user's script is run.
    """
    if job is None:
        return f"starting the compiler, {seconds:.0f} s. {NOTHING_RUN}"
    if job.tpu not in answers.tpus:
        doing = "your script runs on the CPU" if runs_script else "lowering your code"
        doing += f" with {job.size}" if job.size else ""
        return escape_text(f"{doing}, {job.seconds:.0f} s. {NOTHING_RUN}")
    if job.size:
        fit = answers.fit((None, job.program), job.tpu)
        tried = phrases.format_count(len(fit.tried) if fit else 0, "size")
        doing = f"{job.title} for {job.tpu}, {job.seconds:.0f} s, {tried} tried"
        return escape_text(f"{doing}. {NOTHING_RUN}")
    far = ""
    if progress and (text := progress.text()):
        far = f"{progress.draw_bar(cells=max(BAR, width // 3 - PARTING))}  {text}; "
    return escape_text(f"{far}{job.program} for {job.tpu}, {job.seconds:.0f} s. {NOTHING_RUN}")


def format_headline(
    answers: RehearsalAnswers, request: RehearsalRequest, *, stopped_of: int | None
) -> str:
    """Return the headline of a rehearsal; `stopped_of` is the number planned, if it was stopped."""
    if fits := fit_text.format_largest_fit_headline(answers.fits):
        return fits
    order = answers.tpus.index
    results = sorted(answers.results, key=lambda result: order(result["tpu"]))
    own, script = is_user_program(request), bool(request.script)
    return rehearsal_headline.format_headline(
        results, own=own, script=script, stopped_of=stopped_of
    )


def format_error(problem: Problem, request: RehearsalRequest) -> str:
    """Return the text of an error that ended a rehearsal.

    If it has no hint and the user typed arguments, the last line names the key to edit them.
    """
    may_change = request.arguments and not problem.hint
    return f"{problem}\n{_CHANGE}." if may_change else str(problem)


def format_next_key(
    answers: RehearsalAnswers, request: RehearsalRequest, *, stopped: bool, compares: bool
) -> str:
    """Return a sentence with the next key after a rehearsal.

    Args:
        answers: The answers.
        request: The rehearsal that was run.
        stopped: True if it was stopped.
        compares: True if the comparison of TPUs is shown without a key.
    """
    came_to = {str(result["status"]) for result in answers.results}
    if stopped:
        return "It was stopped. Press r to go on; what was compiled already is stored."
    if came_to & {"error", "refused"} or (request.script and not came_to):
        if request.arguments:  # wrong arguments also make JAX name a line of the file
            return f"{_CHANGE}, or mend your file and press r to start again."
        return "Once it is mended, press r to start again."
    if not came_to:
        return "Press Esc to choose a TPU with more devices."
    if "does-not-fit" in came_to and len(answers.tpus) > 1 and not compares:
        return "Press c to compare the TPUs."
    if "does-not-fit" in came_to and "compiles" in came_to and is_user_program(request):
        return "Make it smaller, or press Esc twice and then u to get a TPU that holds it."
    if "does-not-fit" in came_to and request.arguments:
        search = "" if request.fit else ", b to search the largest batch that fits"
        return f"{_CHANGE}{search}, or Esc to choose a TPU with more memory."
    if "does-not-fit" in came_to:
        return "Press Esc to choose smaller arrays, or a TPU with more memory."
    if is_user_program(request):
        others = f"{_SEARCH}. " if not (request.script or request.fit) else ""
        return f"{others}To get such a TPU, press Esc twice and then u."
    return "Press Esc to choose other programs, such as one of your own."
