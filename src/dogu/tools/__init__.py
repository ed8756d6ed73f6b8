"""The built-in tools, one file each; none imports another."""
