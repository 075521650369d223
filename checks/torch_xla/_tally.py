"""Findings about many parts of one kind, such as every device or every dtype."""

from tpustarter.probe.finding import Finding, Hint, compare

AGAIN = Hint.run(
    "tpustarter check 'torch_xla.*' --isolate -v", "; do not trust a machine that fails twice"
)


def tally(code, name, differences, hint=AGAIN):
    """Yield the number of parts that are as expected, then a finding for each other part.

    `differences` has, for the entity of each part such as `device:5`, how it differs from what was
    expected, or an empty text.
    """
    whole = list(differences.values()).count("")
    yield compare(code, name, whole, len(differences), hint=hint)
    for entity, text in differences.items():
        if text:
            yield Finding(code, name, "fail", text, entity=entity, hint=hint)
