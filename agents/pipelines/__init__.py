"""Pipelines: one async function each, readable from top to bottom."""
