"""The text of the project as tokens: one token for each character.

alice.txt is "Alice's Adventures in Wonderland" by Lewis Carroll, 1865,
in the public domain. It is the transcription of Project Gutenberg that
compression libraries test with, such as github.com/google/snappy, where
it is testdata/alice29.txt. Line ends, the line that names the edition
and runs of empty lines were normalised.
"""

from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("alice.txt")
VALIDATION = 0.1
"""The part of the text, at its end, that no model is trained on."""


def encode(text):
    """Return the tokens of a text: int32[characters], below 128."""
    return np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int32)


def decode(tokens):
    """Return the text of tokens."""
    return bytes(np.asarray(tokens, np.uint8)).decode("ascii")


def load():
    """Return the tokens to train on, and those to validate with."""
    tokens = encode(FILE.read_text(encoding="ascii"))
    count = int(len(tokens) * (1 - VALIDATION))
    return tokens[:count], tokens[count:]


def sample(rng, tokens, batch, length):
    """Return random windows of the text: int32[batch, length + 1].

    The model reads all tokens of a window but the last, and predicts all
    but the first.
    """
    starts = rng.integers(0, len(tokens) - length, batch)
    return np.stack([tokens[at : at + length + 1] for at in starts])
