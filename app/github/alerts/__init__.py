"""Dependabot alerts and their tracking issues on GitHub."""
