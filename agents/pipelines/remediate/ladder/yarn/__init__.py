"""Yarn 3 and 4 on the ladder."""
