"""Make the tensors with `length` columns from the start, filled with what
belongs in the padding: `torch.full((rows, length), -100)` for the labels.

Truncate each sentence with `sentence[:length]` before you write it into its
row.

The mask is 1 in the same positions into which you write tokens.

Learned: Batches of one shape compile once; the attention mask and the label
-100 keep the padding out of the model and out of the loss.
"""

import torch


def pad(sentences, length):
    """Return `input_ids`, `attention_mask` and `labels`, as int64 tensors."""
    shape = (len(sentences), length)
    ids = torch.zeros(shape, dtype=torch.int64)
    mask = torch.zeros(shape, dtype=torch.int64)
    labels = torch.full(shape, -100, dtype=torch.int64)
    for row, sentence in enumerate(sentences):
        tokens = torch.tensor(sentence[:length])
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        labels[row, : len(tokens)] = tokens
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
