"""The texts that all hosts exchange before they do something together, and the hosts that differ.

The rule to know: a collective that one host does not join never ends, and no host reports that. So
the hosts first compare texts, through the key-value store of JAX's coordinator, where a silent host
costs `ANSWER_S` seconds and is named.
"""

import collections
import itertools
import time

import jax
from jax._src import distributed

from tpustarter.probe.finding import Finding, NoAnswer, compare

ANSWER_S = 60
"""Seconds within which a host must answer, besides those for loading and compiling JAX."""

_turns = collections.Counter()


def label(process):
    """Return the name of a host in findings."""
    return f"host:{process}"


def exchange(subject, text):
    """Return the text of each host on a subject, in order; None for a host that is silent.

    All hosts call it, equally often for each subject.
    """
    client, count = distributed.global_state.client, jax.process_count()
    if count == 1:
        return [text]
    if client is None:
        raise NoAnswer("these hosts were not joined by jax.distributed.initialize")
    _turns[subject] += 1
    place = f"tpustarter/said/{subject}/{_turns[subject]}"
    client.key_value_set(f"{place}/{jax.process_index()}", text)
    until = time.monotonic() + ANSWER_S
    return [answer(client, f"{place}/{process}", until) for process in range(count)]


def answer(client, key, until):
    """Wait for the text stored under a key and return it, or None."""
    left_ms = max(1, int(1000 * (until - time.monotonic())))
    try:
        return client.blocking_key_value_get(key, left_ms)
    except RuntimeError:  # JAX's, for a timeout or a lost coordinator
        return None


def usual(answers):
    """Return the most common text, and words for its hosts; of two hosts, the first is right."""
    given = [text for text in answers if text is not None]
    text, times = collections.Counter(given).most_common(1)[0]
    return text, "most have" if 2 * times > len(answers) else f"{label(answers.index(text))} has"


def differences(answers, between="\n"):
    """Return for each host how its answer differs from the usual one, or an empty text.

    Of answers with several parts, the text is about the first that differs.
    """
    common, most = usual(answers)
    texts = {}
    for process, own in enumerate(answers):
        text = f"no answer within {ANSWER_S} s" if own is None else ""
        if own not in (None, common):
            part, right = first_difference(own.split(between), common.split(between))
            text = f"{part}, and {most} {right}"
        texts[label(process)] = text
    return texts


def first_difference(parts, others):
    """Return the first part that differs from another one's at the same place, and that one."""
    pairs = itertools.zip_longest(parts, others, fillvalue="nothing")
    return next((one.strip()[:90], other.strip()[:90]) for one, other in pairs if one != other)


def tally(code, name, lost, hint):
    """Yield the number of hosts that are as expected; the first host also names the others.

    `lost` has the difference of each host, such as `host:3`. It is the same on every host, so one
    of them names the others.
    """
    whole = list(lost.values()).count("")
    yield compare(code, name, whole, len(lost), hint=hint)
    for entity, text in lost.items():
        if text and jax.process_index() == 0:
            yield Finding(code, name, "fail", text, entity=entity, hint=hint)


def agree(code, name, answers, hint):
    """Yield which hosts differ from most of them, and return whether none does."""
    lost = differences(answers)
    yield from tally(code, name, lost, hint)
    return not any(lost.values())
