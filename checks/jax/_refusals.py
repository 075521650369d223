"""What an attempt raises, for claims that something is refused."""

REFUSALS = (AttributeError, BufferError, IndexError, RuntimeError, TypeError, ValueError)
"""How JAX and NumPy say no."""


def refusal(attempt):
    """Return the name of what an attempt raises."""
    try:
        attempt()
    except REFUSALS as error:
        return type(error).__name__
    return "nothing raised"


def reason(attempt):
    """Return why an attempt is refused, in one line, or an empty text."""
    try:
        attempt()
    except REFUSALS as error:
        return f"refused: {str(error).splitlines()[0][:120]}"
    return ""
