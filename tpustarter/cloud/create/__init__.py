"""Validating and sending requests for TPUs, and following them through their states."""
