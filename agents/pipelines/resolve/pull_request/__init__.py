"""The pull request of a resolve run: its words, its measurements, its publication."""
