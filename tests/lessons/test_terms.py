"""Terms are linked before they are used; how a term is recognised in a text."""

from __future__ import annotations

from tests.support.terms import linked, paragraphs, too_early, twice, used


def test_path_links_term_before_use_and_once() -> None:
    """Each path links a term to the glossary at its first use, and has it in bold only once."""
    assert [] == too_early()
    assert [] == twice()


def test_term_is_found_across_lines_and_plurals() -> None:
    """Uses and links are found over line breaks and in plurals, but not in code."""
    text = "An all-reduce. Two\nqueued\nresources of [a pod](../glossary.md#pod).\n\n`HBM` and HBM."

    assert [["all-reduce", "pod", "queued-resource"], ["hbm"]] == [
        sorted(used(one)) for one in paragraphs(text)
    ]
    assert ["pod"] == linked(text)
    assert [] == linked(text, bold=True)
    assert ["pod"] == linked("[**pod**](../glossary.md#pod)", bold=True)
    assert [] == list(used("See [HBM and VMEM](../jax/01-how-fast.md)."))
