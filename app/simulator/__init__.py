"""A GitHub and a Messages API on loopback, for the demo, evaluations and tests."""
