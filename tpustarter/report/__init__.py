"""The bug report: the facts that maintainers ask for, collected even while the device hangs.

Each collector (`collect`) lists the fields that a report may contain (`clean/allowed_fields`). The
facts are cleaned of names and secrets (`clean/cleaner`, `clean/pseudonyms`), put into a tracker's
form and bundled (`forms`). Nothing is sent anywhere.
"""
