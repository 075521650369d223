"""Creation and deletion of Google Cloud TPUs, through Google's own client library.

This is the only package that imports `google.cloud`, and it does so inside functions because the
import takes a third of a second. Nothing is sent until a command requests it.
"""
