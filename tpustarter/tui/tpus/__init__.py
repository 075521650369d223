"""The screens of Google Cloud TPUs: list, request, and commands on workers."""
