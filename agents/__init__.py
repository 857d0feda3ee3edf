"""Pipelines, the agent loop and its tools; knows no HTTP and no tokens."""
