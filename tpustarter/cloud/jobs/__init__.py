"""Commands and jobs on a TPU's workers, and the connections to them."""
