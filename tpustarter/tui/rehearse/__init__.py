"""The screens of a rehearsal: the choice of programs and TPUs, and the table of answers."""
