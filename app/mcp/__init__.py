"""Tools of other servers over MCP: which servers are asked, how, and what a model sees of it."""
