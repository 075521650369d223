"""Set-up of the machine itself: steps that inspect, change and undo."""
