"""The web as tools reach it: addresses that may be asked, fetched within limits, as text that a reader would see."""
