"""The terminal door: a conversation with a user."""
