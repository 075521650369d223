"""A window needs one more character than its inputs, so take rows of
`LENGTH + 1`. All but the last are the inputs, all but the first are the
targets.

`make_model` has the argument `stateful`, and `set_weights` takes what
`get_weights` of the trained model returns. The number of replicas doesn't
matter for either.

Only some layers have a state: `for layer in model.layers: if hasattr(layer,
"reset_state"): layer.reset_state()` empties them.

Give the predictor the characters of `start` one by one, and keep the logits of
the last one. Then draw a character, add it to the text and give it to the
predictor, which returns the logits for the next one.

Learned: The targets are the inputs shifted by one, and a state that is
reset for each text and kept within it gives the logits of the whole text.
"""

import numpy as np
import tensorflow as tf

LENGTH = 32  # of a window


def make_model(batch_size=None, stateful=False):
    """Return a model from characters to logits of the next ones."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((None,), batch_size=batch_size),
            tf.keras.layers.Embedding(128, 32),
            tf.keras.layers.LSTM(
                128, return_sequences=True, stateful=stateful
            ),
            tf.keras.layers.Dense(128),
        ]
    )


def characters(text):
    """Return the codes of a text, as int32[length]."""
    return np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int32)


def windows(codes):
    """Return inputs and targets, a row of LENGTH codes for each window."""
    rows = np.lib.stride_tricks.sliding_window_view(codes, LENGTH + 1)
    return rows[:, :-1], rows[:, 1:]


def predictor(trained):
    """Return a model for one text that keeps its state."""
    model = make_model(batch_size=1, stateful=True)
    model.set_weights(trained.get_weights())
    return model


def draw(logits, rng):
    """Return a character, drawn by the probabilities of float32[128]."""
    logits = logits.astype(np.float64)
    weights = np.exp(logits - logits.max())
    return chr(rng.choice(128, p=weights / weights.sum()))


def continued(model, start, count, rng):
    """Return `start` and `count` more characters."""
    for layer in model.layers:
        if hasattr(layer, "reset_state"):
            layer.reset_state()
    for character in start:
        logits = model(characters(character)[None])
    text = start
    for _ in range(count):
        text += draw(logits.numpy()[0, -1], rng)
        logits = model(characters(text[-1])[None])
    return text
