"""The screens of a rehearsal: the choice, the table and its answers."""
