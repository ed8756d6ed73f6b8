"""Sessions: recorded as they happen, read again, resumed."""
