"""Two steps of 0.1 and 0.3 seconds with the same tokens: how many tokens per
second are that together? The mean of the two rates is a different number.

Add up the tokens and the seconds of the steps that count, and divide once
at the end.

Skip each line that does not begin with `step`, and each whose number is
below `first`.

Learned: A rate over several steps is the sum of the work divided by the sum
of the time, and the steps that compile do not belong to it.
"""


def mfu(lines, flops_per_token, peak, first=10):
    """Return the MFU of the steps from `first` on."""
    all_tokens, all_seconds = 0, 0.0
    for line in lines:
        words = line.split()
        if words[0] != "step" or int(words[1]) < first:
            continue
        all_tokens += int(words[5])
        all_seconds += float(words[7])
    if not all_seconds:
        return None
    return all_tokens * flops_per_token / (all_seconds * peak)
