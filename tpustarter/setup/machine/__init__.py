"""Set-up of the machine itself: steps that look, change and undo."""
