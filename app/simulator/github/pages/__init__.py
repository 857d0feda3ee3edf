"""The HTML pages of the simulated GitHub, for people who watch the demo."""
