"""The progress of the learner, kept in the state folder."""
