"""The exercise screens, with the list, the task, the editor and the verdict."""
