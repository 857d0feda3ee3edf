"""Step 8: other servers' tools (MCP): who may be asked, how, and what of it reaches a model."""
