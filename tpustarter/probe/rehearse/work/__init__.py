"""Counting a program's work in its trace, before anything is compiled."""
