"""Supervised processes: how they are started, listened to and ended, and who holds the device."""
