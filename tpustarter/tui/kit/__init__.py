"""Widgets and texts that several features of the app share."""
