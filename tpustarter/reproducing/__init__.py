"""One Python file that fails as a check or a block of a lesson did, and needs only a framework.

`standalone` puts the claim and all that it needs into one text, `program` makes a file of it, and
`trying` runs that file, under several `variants` of the devices and settings too.
"""
