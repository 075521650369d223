"""Rehearsal: programs compiled for TPUs that are not there."""
