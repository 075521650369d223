"""The ledger of billed resources, their cost, and the inventory of a project."""
