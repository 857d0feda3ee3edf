"""Bundler on the ladder."""
