"""The commands that set an App up and replace its secrets."""
