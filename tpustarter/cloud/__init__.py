"""Acquisition and removal of Google Cloud TPUs, through Google's own client.

The only package that imports `google.cloud`, and it does so inside functions: the client takes a
third of a second. Nothing is sent before a command asks for it.
"""
