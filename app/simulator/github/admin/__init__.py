"""What the demo and tests may do to the simulated GitHub without its API."""
