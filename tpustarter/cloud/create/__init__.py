"""Requests for a TPU: checked, sent, and followed through their states."""
