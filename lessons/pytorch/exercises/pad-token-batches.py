"""Pad token batches.

`pad(sentences, length)` gets lists of tokens of different length and returns
a dictionary of three integer tensors of shape `(sentences, length)`:

* `input_ids`, the tokens, with the token 0 in the padding,
* `attention_mask`, 1 for a token and 0 for padding,
* `labels`, the tokens, with -100 in the padding, which the loss ignores.

Sentences that are too long are truncated. The shape may not depend on the
sentences, so that a training step compiles once.
"""

import torch


def pad(sentences, length):
    """Return `input_ids`, `attention_mask` and `labels`, as int64 tensors."""
    longest = max(len(sentence) for sentence in sentences)
    ids = torch.zeros(len(sentences), longest, dtype=torch.int64)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = torch.tensor(sentence)
    # your code here
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "labels": ids,
    }


# Judged below: leave this part as it is.

import torch_xla  # noqa: E402
import torch_xla.debug.metrics as met  # noqa: E402

FIRST = [[5, 6, 7], [8, 9]]
batch = pad(FIRST, 4)
expected = {
    "input_ids": [[5, 6, 7, 0], [8, 9, 0, 0]],
    "attention_mask": [[1, 1, 1, 0], [1, 1, 0, 0]],
    "labels": [[5, 6, 7, -100], [8, 9, -100, -100]],
}
for name, rows in expected.items():
    found = batch[name].tolist()
    message = f"`{name}` of {FIRST} is {found}, expected {rows}"
    assert found == rows, message
    message = f"`{name}` has dtype {batch[name].dtype}, expected torch.int64"
    assert batch[name].dtype == torch.int64, message

found = pad([[1, 2, 3, 4, 5, 6]], 4)["labels"].tolist()
message = f"a sentence of 6 tokens gives {found}, expected its first 4"
assert found == [[1, 2, 3, 4]], message

torch.manual_seed(0)
scores = torch.randn(10, 10)


def loss_of(batch):
    logits = scores[batch["input_ids"]].flatten(0, 1)
    labels = batch["labels"].flatten()
    return torch.nn.functional.cross_entropy(logits, labels)


short = loss_of(pad(FIRST, 3))
long = loss_of(pad(FIRST, 8))
message = (
    f"padding to 3 gives the loss {short:.4f} and to 8 {long:.4f}, expected"
    " the same: labels of -100 are left out of the mean"
)
assert torch.isclose(short, long), message

scores = scores.to("xla")
torch_xla.sync()
met.clear_all()
for sentences in ([[1, 2]], [[1, 2, 3]], [[4]]):
    batch = pad(sentences, 8)
    loss_of({name: rows.to("xla") for name, rows in batch.items()}).item()
compiled = met.metric_data("CompileTime")[0]
message = f"three batches compiled {compiled} programs, expected 1"
assert compiled == 1, message
print("three batches, 1 program, loss", round(short.item(), 4))
