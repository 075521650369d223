"""The errors that attempts raise, for claims that something is refused."""

REFUSALS = (AttributeError, BufferError, IndexError, RuntimeError, TypeError, ValueError)
"""Errors with which JAX and NumPy refuse an operation."""


def refusal(attempt):
    """Return the name of the error that an attempt raises."""
    try:
        attempt()
    except REFUSALS as error:
        return type(error).__name__
    return "nothing raised"


def reason(attempt):
    """Return the reason why an attempt is refused, in one line, or an empty text."""
    try:
        attempt()
    except REFUSALS as error:
        return f"refused: {str(error).splitlines()[0][:120]}"
    return ""
