"""The model's read-only `gh` tool, served through Fettle's own client."""
