"""Findings about many parts of one kind, such as every device or every type."""

from tpustarter.probe.finding import Finding, Hint, compare

AGAIN = Hint.run(
    "tpustarter check 'jax.*' --isolate -v", "; do not trust a machine that fails twice"
)


def tally(code, name, differences, hint=AGAIN):
    """Yield how many parts are as expected, then each that is not.

    `differences` says for each part, by its entity such as `device:5`, how it differs from what was
    expected; an empty text where it does not.
    """
    whole = list(differences.values()).count("")
    yield compare(code, name, whole, len(differences), hint=hint)
    for entity, text in differences.items():
        if text:
            yield Finding(code, name, "fail", text, entity=entity, hint=hint)
