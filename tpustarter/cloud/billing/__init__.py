"""The ledger of billed resources, their cost, and a project's inventory."""
