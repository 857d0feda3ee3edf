"""read_tool: say what it is."""
