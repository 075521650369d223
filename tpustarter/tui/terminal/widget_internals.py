"""Access to private parts of Textual's `Input` and `CommandPalette` (8.2.8)."""

from __future__ import annotations

from collections.abc import Sequence

from textual.command import CommandList, CommandPalette
from textual.widgets import Input
from textual.worker import Worker


class SearchedPalette(CommandPalette):
    """Textual's palette with access to its searches."""

    def unfinished_searches(self) -> Sequence[Worker[object]]:
        """Return the workers that are still searching for commands."""
        group = self._GATHER_COMMANDS_GROUP
        return [one for one in self.workers if one.group == group and not one.is_finished]

    def _action_command_list(self, action: str) -> None:
        """Move in the list; at zero size, Textual (8.2.8) would look up a missing line."""
        if self.query_one(CommandList).scrollable_content_region.area:
            super()._action_command_list(action)


class SuggestingInput(Input):
    """An input field whose bindings may depend on its suggestion."""

    @property
    def suggested_value(self) -> str:
        """The suggested value, or ""."""
        return self._suggestion

    def watch__suggestion(self) -> None:
        self.refresh_bindings()
