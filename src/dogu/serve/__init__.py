"""The doors; none imports another."""
