"""Predict Shakespeare, one character at a time.

The model trains on eight replicas, on windows of three sonnets. Then its
weights move to one device, where a model with a state continues a text. It
sees each character once, and whatever it knows of the text before is in the
state of its LSTM. The original notebook did the same, with a TPU and a CPU.

* `windows`: the target of each character is the character that follows it.
* `predictor`: a model for one text, with the weights of the trained one, that
  keeps its state from one call to the next.
* `continued`: begins from an empty state, reads all of `start`, and then
  draws `count` characters. Give the predictor each character once, in an
  array of the shape (1, 1), because another shape would be another program.
  The `model.reset_states()` of Keras 2 is gone. A layer with a state has the
  method `reset_state()`.
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
    rows = np.lib.stride_tricks.sliding_window_view(codes, LENGTH)
    return rows, rows  # your code here


def predictor(trained):
    """Return a model for one text that keeps its state."""
    return make_model(batch_size=1)  # your code here


def draw(logits, rng):
    """Return a character, drawn by the probabilities of float32[128]."""
    logits = logits.astype(np.float64)
    weights = np.exp(logits - logits.max())
    return chr(rng.choice(128, p=weights / weights.sum()))


def continued(model, start, count, rng):
    """Return `start` and `count` more characters."""
    text = start
    for _ in range(count):
        logits = model(characters(text[-1])[None])  # your code here
        text += draw(logits.numpy()[0, -1], rng)
    return text


# Judged below: leave this part as it is.

SONNETS = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance, or nature's changing course, untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st;
So long as men can breathe, or eyes can see,
So long lives this, and this gives life to thee.

That time of year thou mayst in me behold
When yellow leaves, or none, or few, do hang
Upon those boughs which shake against the cold,
Bare ruin'd choirs, where late the sweet birds sang.
In me thou see'st the twilight of such day
As after sunset fadeth in the west,
Which by and by black night doth take away,
Death's second self, that seals up all in rest.
In me thou see'st the glowing of such fire
That on the ashes of his youth doth lie,
As the death-bed whereon it must expire
Consumed with that which it was nourish'd by.
This thou perceivest, which makes thy love more strong,
To love that well which thou must leave ere long.

Let me not to the marriage of true minds
Admit impediments. Love is not love
Which alters when it alteration finds,
Or bends with the remover to remove:
O no! it is an ever-fixed mark
That looks on tempests and is never shaken;
It is the star to every wandering bark,
Whose worth's unknown, although his height be taken.
Love's not Time's fool, though rosy lips and cheeks
Within his bending sickle's compass come:
Love alters not with his brief hours and weeks,
But bears it out even to the edge of doom.
If this be error and upon me proved,
I never writ, nor no man ever loved.
"""


def make_strategy():
    """Return a strategy for the TPU, or for the CPU devices."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu="local"
        )
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, tf.errors.NotFoundError):
        return tf.distribute.MirroredStrategy(
            tf.config.list_logical_devices("CPU")
        )
    return tf.distribute.TPUStrategy(resolver)


codes = characters(SONNETS)
inputs, targets = windows(codes)
message = f"inputs and targets have the shapes {inputs.shape} and"
message += f" {targets.shape}, expected two of (..., {LENGTH})"
assert inputs.shape == targets.shape and inputs.shape[1] == LENGTH, message
message = f"there are {len(inputs)} windows, expected more than 1000"
assert len(inputs) > 1000, message
shown = ["".join(map(chr, row[:12])) for row in (inputs[0], targets[0])]
message = f"the first window is {shown[0]!r}..., its target {shown[1]!r}..."
if np.array_equal(inputs, targets):
    message += ": so the model learns to repeat the character that it sees"
assert np.array_equal(inputs[:, 1:], targets[:, :-1]), message
following = dict(zip(map(bytes, inputs), targets[:, -1]))
message = "the last target of a window isn't the character that follows it"
assert all(
    following.get(bytes(codes[i : i + LENGTH]), codes[i + LENGTH])
    == codes[i + LENGTH]
    for i in range(len(codes) - LENGTH)
), message

tf.keras.utils.set_random_seed(0)
if "strategy" not in globals():  # one a process, also in a notebook
    strategy = make_strategy()
with strategy.scope():
    trained = make_model()
    trained.compile(
        tf.keras.optimizers.Adam(0.01),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
dataset = tf.data.Dataset.from_tensor_slices((inputs, targets))
dataset = dataset.shuffle(len(inputs), seed=0).repeat()
dataset = dataset.batch(64, drop_remainder=True)
history = trained.fit(dataset, steps_per_epoch=100, shuffle=False, verbose=0)
loss = history.history["loss"][0]
assert loss < 3, f"the loss is {loss:.2f}, expected less than 3"

# A model without a state that reads a whole text at once.
whole = make_model()
whole.set_weights(trained.get_weights())
sample = codes[None, :40]
expected = whole(sample).numpy()[0]
alone = whole(sample.T).numpy()[:, 0]
model = predictor(trained)
found = [model(sample[:, i : i + 1]).numpy()[0, 0] for i in range(40)]
message = "the predictor has other weights than the trained model"
assert np.allclose(found[0], expected[0], atol=1e-3), message
message = "the logits differ from those of the whole text"
if np.allclose(found, alone, atol=1e-3):
    message = (
        "the predictor knows the last character and nothing before it: its"
        " state was lost between two calls"
    )
assert np.allclose(found, expected, atol=1e-3), message


class Recorder:
    """Stands for the predictor, and writes down what it is given."""

    def __init__(self, model):
        self.model = model
        self.shapes = set()
        self.text = ""

    def __getattr__(self, name):
        return getattr(self.model, name)

    def __call__(self, codes):
        self.shapes.add(tuple(codes.shape))
        self.text += "".join(map(chr, np.ravel(codes)))
        return self.model(codes)


start = "Shall I "
recorder = Recorder(model)
text = continued(recorder, start, 30, np.random.default_rng(0))
message = f"{len(text)} characters came back, expected 8 and 30 more"
assert len(text) == 38 and text.startswith(start), message
message = f"the predictor got arrays of the shapes {recorder.shapes}"
assert recorder.shapes == {(1, 1)}, message
message = (
    f"the predictor was given {recorder.text!r} while it made {text!r},"
    " expected each character once, in its order"
)
assert recorder.text in (text, text[:-1]), message
rng = np.random.default_rng(0)
reference = start
for _ in range(30):
    logits = whole(characters(reference)[None]).numpy()[0, -1]
    reference += draw(logits, rng)
message = f"the text is {text!r}, expected {reference!r}"
if reference[:10] != text[:10]:
    message += ": the state of an earlier text was still there"
assert text == reference, message

print(f"loss {loss:.2f} on {strategy.num_replicas_in_sync} replicas")
print(continued(model, start, 200, np.random.default_rng(1)))
