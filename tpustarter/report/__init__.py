"""The bug report: the facts that maintainers ask for, collected even while the device hangs.

Collectors (`collect`) have a list of fields that a report may contain (`clean/allowed_fields`). The
facts are cleaned of names and secrets (`clean/cleaner`, `clean/pseudonyms`), put into the form of a
tracker and bundled (`forms`). Nothing is sent anywhere.
"""
