"""The tests: a folder for each package of the program, `checks/` and `lessons/` for content."""
