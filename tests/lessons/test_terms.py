"""Terms are introduced before they are used; and what is taken for a use, and for that."""

from __future__ import annotations

from tests.support.terms import linked, paragraphs, too_early, twice, used


def test_path_links_term_before_use_and_once() -> None:
    """It is linked to the glossary where it is first used, and in bold in one lesson of a path."""
    assert [] == too_early()
    assert [] == twice()


def test_term_is_found_across_lines_and_plurals() -> None:
    """A use, a link, a plural across lines; code and names of lessons are none."""
    text = "An all-reduce. Two\nqueued\nresources of [a pod](../glossary.md#pod).\n\n`HBM` and HBM."

    assert [["all-reduce", "pod", "queued-resource"], ["hbm"]] == [
        sorted(used(one)) for one in paragraphs(text)
    ]
    assert ["pod"] == linked(text)
    assert [] == linked(text, bold=True)
    assert ["pod"] == linked("[**pod**](../glossary.md#pod)", bold=True)
    assert [] == list(used("See [HBM and VMEM](../jax/01-how-fast.md)."))
