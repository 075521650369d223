"""Finding problems in lessons before a learner meets them."""
