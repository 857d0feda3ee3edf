"""Settings: read from the environment once, checked as a whole, then passed on as values."""
