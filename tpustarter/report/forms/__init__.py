"""A report as Markdown for a tracker, and as the files of a bundle."""
