"""Events and slices as text, for both front ends."""
