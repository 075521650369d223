"""Makes an environment step by step, proves that it works, and takes it back."""
