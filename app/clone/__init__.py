"""The resolve pipeline on a local clone, without any GitHub."""
