"""The full-screen tutor, and the only package that imports Textual.

Screens own state, widgets render it, and long-running work is done in worker threads that only post
messages. Text from a device, a log or a lesson is shown as plain text, never as markup.
"""
