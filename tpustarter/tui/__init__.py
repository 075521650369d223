"""The tutor on a full screen; the only place that imports textual.

Screens own state, widgets render it, and every long piece of work is a worker in a thread that
only posts messages. What comes from a device, a log or a lesson is shown as text, never as markup.
"""
