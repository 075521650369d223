"""Widgets and text layouts shared by several features of the app."""
