"""The commands that work on an issue or a pull request and stay with it."""
