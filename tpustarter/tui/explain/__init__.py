"""The screens that explain a failure from a run, pasted text or a log."""
