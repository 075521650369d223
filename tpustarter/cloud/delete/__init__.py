"""Deletion of TPUs, and the pause of their billing."""
