"""The application: session, navigation, command palette, theme, settings."""
