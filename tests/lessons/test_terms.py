"""What is taken for a use of a term, and for its introduction."""

from __future__ import annotations

from tests.support.terms import linked, paragraphs, used


def test_what_is_found() -> None:
    """A use, a link, a plural across lines; code and names of lessons are none."""
    text = "An all-reduce. Two\nqueued\nresources of [a pod](../glossary.md#pod).\n\n`HBM` and HBM."

    assert [["all-reduce", "pod", "queued-resource"], ["hbm"]] == [
        sorted(used(one)) for one in paragraphs(text)
    ]
    assert ["pod"] == linked(text)
    assert [] == linked(text, bold=True)
    assert ["pod"] == linked("[**pod**](../glossary.md#pod)", bold=True)
    assert [] == list(used("See [HBM and VMEM](../jax/01-how-fast.md)."))
