"""Commands on the workers of a TPU, and the connections to them."""
