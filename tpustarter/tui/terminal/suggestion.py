"""An input line that gives access to the suggestion behind its cursor."""

from __future__ import annotations

from textual.widgets import Input


class SuggestingInput(Input):
    """A line whose bindings may depend on whether something is suggested."""

    @property
    def suggested_value(self) -> str:
        """The suggested value, or an empty text."""
        return self._suggestion

    def watch__suggestion(self) -> None:
        self.refresh_bindings()
