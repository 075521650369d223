"""The bug report: what maintainers ask for, collected while the device hangs, without a name in it.

Collectors (`static`, `runs`, `asking`) say what they may tell, field by field (`shapes`). What they
found is cleaned (`cleaning`, `pseudonyms`), put into the form of a tracker (`form`) and bundled.
Nothing is sent anywhere.
"""
