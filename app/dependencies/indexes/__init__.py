"""The package indexes that the operator's own tools are configured for."""
