"""The agent loop: a session is a model's turns and its tool calls, until it submits."""
