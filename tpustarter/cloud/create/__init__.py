"""TPU requests: validated, sent, and followed through their states."""
