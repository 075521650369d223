"""Runs on many hosts: the real command in several processes on this machine."""
