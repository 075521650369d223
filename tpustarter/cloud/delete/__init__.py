"""Deletion of TPUs, and stopping them to pause their billing."""
