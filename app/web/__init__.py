"""Step 8: the public web, read for agents: checked hop by hop, bounded, turned into text."""
