"""A report as Markdown for an issue tracker, and as the files of a bundle."""
