"""Stages that several pipelines use, each with its prompt beside it."""
