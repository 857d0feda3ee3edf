"""The public web, read for agents: checked at each redirect, bounded, turned into text."""
