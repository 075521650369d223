"""The application: session, navigation, command palette, themes and settings."""
