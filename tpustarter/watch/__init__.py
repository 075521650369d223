"""A live view of a TPU: libtpu's metrics, and one sentence that says what they mean."""
