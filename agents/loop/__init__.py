"""Step 7: session, turn, tool calls, until the submission of the stage."""
