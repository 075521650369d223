"""The learner's progress, stored in the state folder."""
