"""Changes to the simulated GitHub's state, each with the webhook deliveries that follow from it."""
