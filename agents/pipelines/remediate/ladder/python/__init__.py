"""Python's package managers: pip, Poetry and uv."""
