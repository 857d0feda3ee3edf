"""Step 8: where the commands of agents run."""
